/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's one context. Everything in it belongs to the loop's thread.
 *
 *   ops      FUSE requests -> node, job, wait; replies once
 *   node     what users (and collected output trees) have stored
 *   job      the job object; event: its state, the only place that sets it
 *   sched    which of the runs that wait is next
 *   run      one run of a job on one leased machine
 *   sessions machines whose interpreter outlives a run
 *   sandboxes  machines that several runs share
 *   remote   the inode numbers of what is in those machines
 *   wait     parked readers and poll handles; replies when they are due
 *   depot    the state directory; chores: slow work on threads
 *   fiber    requests and steps of runs that may wait in their middle; lane:
 *            whose turn it is at a job
 *   quota    what each user has and may have
 *   turns    long work on the loop, a little at a time
 *   keeper   a process for what takes rights; restrain: what is given up
 *   requests what the kernel waits for; inherit: it outlives this process
 *   open_files  the numbers of open files; ops_restore: as they were
 *   kept     what the next server is to know of each job; shelf: those that
 *            nobody has asked for since
 *   holder   the process that keeps the mount while servers come and go;
 *            fdstore: and files without a name
 *   notify   tells watchers (inotify) of what happens by itself
 *   face     what .fsd shows
 *   retain   how long results stay; resume: what a daemon before this one left
 *   people   which times each user sees
 */
#ifndef FSD_FSD_H
#define FSD_FSD_H

#include <sys/types.h>

#include "layout/layout.h"
#include "vm/environment/environment.h"
#include "vm/vm.h"
#include "fsd/base/hash.h"
#include "fsd/base/order.h"
#include "fsd/users/quota.h"
#include "fsd/base/turns.h"
#include "fsd/base/walk.h"

struct about;
struct users;
struct depot;
struct jobs;
struct nodes;
struct keeper;
struct notify;
struct remotes;
struct sched;
struct inherit;
struct requests;
struct retain_limits;
struct open_files;
struct fdstore;
struct runs;
struct lifecycle;
struct environments;
struct sessions;
struct sandboxes;
struct submit;

/* The options of the mount that rooms below the server read. They do not change while a
 * server runs. server/options.h has all options. */
struct fsd_options {
	const char *mountpoint; /* absolute */
	bool allow_other;
	struct config_limits limits; /* of each job */
	const struct retain_limits *retain;
};

struct fsd {
	struct loop *loop;
	struct turns turns;
	struct vm *vm;
	struct depot *depot;
	struct jobs *jobs;
	struct nodes *nodes;
	struct users *users; /* owned */
	struct sched *sched;
	struct inherit *inherit;       /* owned: what the next server gets, */
	struct requests *requests;     /* owned: of it */
	struct open_files *open_files; /* owned: of it */
	struct fdstore *fdstore;       /* owned: files that have no name */
	struct keeper *keeper; /* owned; has rights that this process has not */
	struct notify *notify; /* NULL before the mount */
	const struct fsd_options *options;
	const struct about *about; /* this server */
	struct lifecycle *lifecycle;   /* owned */
	struct runs *runs;     /* owned */
	struct environments *environments; /* owned */
	struct builds *builds; /* owned: environments that jobs wait for; or NULL */
	struct sessions *sessions;   /* owned */
	struct sandboxes *sandboxes; /* owned */
	struct remotes *remotes; /* of their machines' files */
	struct submit *submit;   /* owned */
};

#endif
