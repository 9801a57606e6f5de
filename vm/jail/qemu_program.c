/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a QEMU lies in a tree of its own, and builds the first words of its
 * command. A tree is known by its dynamic loader at ROOT/lib64.
 *
 * The words lie in the caller's struct qemu_program. The server and the jailer call
 * qemu_program_find() with the same path, so both start QEMU in the same way.
 */
#include "qemu_program.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIN "/usr/bin"
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#define LIBRARIES "/usr/lib/x86_64-linux-gnu"
#define DATA "/usr/share/qemu"

/*
 * Finds the tree of a path, which may be a link: the part before /usr/bin, if a
 * loader lies there.
 * Return: whether there is a tree; then ret has its path and root.
 */
static bool find_tree(const char *path, struct qemu_program *ret)
{
	char loader[PATH_MAX + sizeof(LOADER)];
	size_t len = realpath(path, ret->path) ?
			     (size_t)(strrchr(ret->path, '/') - ret->path) : 0;

	if (len <= strlen(BIN) || len - strlen(BIN) > PATH_MAX - 64 ||
	    strncmp(ret->path + len - strlen(BIN), BIN, strlen(BIN)) != 0)
		return false;
	snprintf(ret->root, sizeof(ret->root), "%.*s",
		 (int)(len - strlen(BIN)), ret->path);
	snprintf(loader, sizeof(loader), "%s" LOADER, ret->root);
	return access(loader, X_OK) == 0;
}

/* Fills in ret for a QEMU without a tree. */
static void take_hosts(const char *path, struct qemu_program *ret)
{
	ret->root[0] = '\0';
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	ret->word[0] = ret->path;
	ret->word[1] = NULL;
}

/*
 * Adds a word: the root and `tail`. p->text has space for three such words, because
 * find_tree() bounds the root's length.
 */
static char *add(struct qemu_program *p, char *at, unsigned word,
		 const char *tail)
{
	size_t room = sizeof(p->text) - (size_t)(at - p->text);

	p->word[word] = at;
	return at + snprintf(at, room, "%s%s", p->root, tail) + 1;
}

void qemu_program_find(const char *path, struct qemu_program *ret)
{
	char *at = ret->text;

	if (!find_tree(path, ret)) {
		take_hosts(path, ret);
		return;
	}
	at = add(ret, at, 0, LOADER);
	ret->word[1] = "--library-path";
	at = add(ret, at, 2, LIBRARIES);
	ret->word[3] = ret->path;
	/* Without -L QEMU searches its firmware beside the program that the kernel has
	 * started, which is the loader. */
	ret->word[4] = "-L";
	add(ret, at, 5, DATA);
	ret->word[6] = NULL;
}
