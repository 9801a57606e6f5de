/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct fsd: the contexts of one server, most of them opaque pointers. The room that
 * owns a context defines the struct in its .c or its _int.h, with x_new() and x_free();
 * other rooms call functions. server/serve.c makes and frees them in a visible order.
 * All of this belongs to the loop's thread.
 *
 * The rooms from jobs up take a struct fsd. Those below get their own context, or what
 * they need, as arguments.
 */
#ifndef FSD_FSD_H
#define FSD_FSD_H

#include <sys/types.h>

#include "layout/layout.h"
#include "fsd/base/time_slice.h"

struct about;
struct builds;
struct store;
struct environments;
struct fdstore;
struct handover;
struct jobs;
struct broker;
struct lifecycle;
struct network;
struct nodes;
struct inotify;
struct open_files;
struct guest_inodes;
struct requests;
struct retain_limits;
struct runs;
struct sandboxes;
struct sched;
struct submit;
struct users;
struct machines;

/* The options of the mount that rooms below the server read. They do not change while a
 * server runs. server/options.h has all options. */
struct fsd_options {
	const char *mountpoint; /* absolute */
	bool allow_other;
	struct config_limits limits; /* the largest values that config.json may ask for */
	const struct retain_limits *retain;
};

struct fsd {
	struct loop *loop;
	struct time_slices slices; /* long work on the loop, in slices */
	const struct fsd_options *options; /* borrowed */
	const struct about *about; /* borrowed: facts that the mount shows (fuse) */
	/* memory and descriptors that outlive a server */
	struct handover *handover;
	struct fdstore *fdstore;
	/* each user; the state directory; stored files; files in machines */
	struct users *users;
	struct store *store;
	struct nodes *nodes;
	struct guest_inodes *guest_inodes;
	/* machines, who gets the next one, and the sets of packages in them */
	struct machines *vm;
	struct sched *sched;
	struct network *network; /* the servers that jobs may reach */
	struct environments *environments; /* jobs */
	struct builds *builds;   /* NULL: no environment is built for a job */
	/* jobs, and what becomes of them */
	struct lifecycle *lifecycle; /* jobs: do jobs and runs begin? */
	struct jobs *jobs;
	struct submit *submit;
	struct runs *runs;
	struct sandboxes *sandboxes; /* run */
	/* the mount */
	struct broker *broker;
	struct inotify *inotify; /* NULL before the mount, and without watchers */
	struct requests *requests;
	struct open_files *open_files; /* fuse */
};

#endif
