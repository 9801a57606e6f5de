/* SPDX-License-Identifier: Apache-2.0 */
/* submit JOB CONFIG: see submit.py. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static FILE *file(const char *job, const char *name, const char *mode)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", job, name);
	f = fopen(path, mode);
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void put(const char *job, const char *name, const char *text)
{
	FILE *f = file(job, name, "w");

	if (fputs(text, f) < 0 || fclose(f) != 0) {
		perror(name);
		exit(1);
	}
}

static void show(const char *job, const char *name)
{
	FILE *f = file(job, name, "r");
	int c;

	while ((c = getc(f)) != EOF)
		putchar(c);
	fclose(f);
}

int main(int argc, char **argv)
{
	if (argc != 3 || mkdir(argv[1], 0755) < 0)
		return 1;
	put(argv[1], "code.sh",
	    "out hello\nerr oops\nwrite result.txt made\nexit 7\n");
	put(argv[1], "config.json", argv[2]);
	show(argv[1], "wait");
	show(argv[1], "stdout");
	show(argv[1], "output/result.txt");
	return 0;
}
