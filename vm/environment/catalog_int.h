/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the catalog: shared by catalog*.c. */
#ifndef VM_CATALOG_INT_H
#define VM_CATALOG_INT_H

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "catalog.h"

struct entry {
	char id[SHA_HEX];
	char parent[SHA_HEX];
	/* the set could not be read; try again after the next change */
	bool damaged;
	bool fits; /* the set fits the image */
	bool used; /* mark of a sweep: a name needs this set */
	uint64_t size;
	struct packages own; /* packages of the set's lock */
	/* the names of its Debian packages in other systems */
	struct packages mapped;
	struct buf recipe; /* arguments of the command that builds the set */
};

struct stamp {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
};

struct environment_catalog {
	pthread_mutex_t lock; /* protects all below */
	struct environment_catalog_of of;
	bool known; /* names and entries are those of the stamps */
	struct stamp stamp[ENVIRONMENT_PLACES];
	struct environment_names names;
	struct entry **entry; /* owned, each owned */
	size_t count;
	struct packages base, base_mapped; /* the image's packages */
};

/*
 * Reads what has changed; call it under the lock. Return: 0 or negative errno.
 */
int catalog_refresh(struct environment_catalog *c, struct err *err);
/* Returns the entry of an id, or NULL. */
struct entry *catalog_entry(const struct environment_catalog *c,
			    const char *id);

#endif
