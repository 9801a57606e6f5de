/* SPDX-License-Identifier: Apache-2.0 */
/* What catalog*.c share; no other file includes it. */
#ifndef VM_CATALOG_INT_H
#define VM_CATALOG_INT_H

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "catalog.h"

struct entry {
	char id[SHA_HEX];
	char parent[SHA_HEX];
	bool damaged; /* it is read again after the next change */
	bool fits;    /* the image */
	bool used;    /* while the entries are swept */
	uint64_t size;
	struct packages own;    /* of its lock */
	struct packages mapped; /* what its Debian packages are elsewhere */
	struct buf recipe;      /* as in a command */
};

struct stamp {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
};

struct environment_catalog {
	pthread_mutex_t lock; /* over all below */
	struct environment_catalog_of of;
	bool known; /* names and entries are those of the stamps */
	struct stamp stamp[ENVIRONMENT_PLACES];
	struct environment_names names;
	struct entry **entry; /* owned, each owned */
	size_t count;
	struct packages base, base_mapped; /* of the image */
};

/* Under the lock: reads what has changed. Return: 0 or negative errno. */
int catalog_refresh(struct environment_catalog *c, struct err *err);
/* The entry of an id, or NULL. */
struct entry *catalog_entry(const struct environment_catalog *c,
			    const char *id);

#endif
