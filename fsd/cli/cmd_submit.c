/* SPDX-License-Identifier: Apache-2.0 */
/* fsd submit: a directory or a program becomes a job. */
#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "fsd/client/submit.h"

enum { OPT_MAIN = CLI_LONG, OPT_KEEP };

const struct cli_option submit_cli_options[] = {
	{ OPT_MAIN, "main", "FILE", "of DIR: the file that is the program",
	  CLI_FILE, NULL },
	{ 'L', "dereference", NULL, "copy what symbolic links lead to",
	  CLI_TEXT, NULL },
	{ OPT_KEEP, "keep", NULL, "keep a job that was refused, to mend it",
	  CLI_TEXT, NULL },
	{ 'M', "mount", "MNT", "the mount", CLI_MOUNT, NULL },
	{ 0 },
};

int command_submit(int argc, char **argv)
{
	struct submit s = { 0 };
	struct cli_getopt g;
	int opt;

	cli_getopt(submit_cli_options, false, &g);
	while ((opt = getopt_long(argc, argv, g.letters, g.longs, NULL)) !=
	       -1) {
		if (opt == OPT_MAIN)
			s.main = optarg;
		else if (opt == 'L')
			s.follow = true;
		else if (opt == OPT_KEEP)
			s.keep = true;
		else if (opt == 'M')
			s.mount = optarg;
		else
			return usage("submit");
	}
	if (argc - optind < 1 || argc - optind > 2)
		return usage("submit");
	s.source = argv[optind];
	s.name = argc - optind == 2 ? argv[optind + 1] : NULL;
	return submit_client(&s);
}
