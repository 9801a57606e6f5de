/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kqueue(2) for Linux, as much of it as fsd/spool/watch_kqueue.c uses: EVFILT_VNODE of one
 * directory, with EV_CLEAR. It is made of inotify (kevent.c) and tells as little as kqueue
 * does: that a name in the directory came or went.
 */
#ifndef TESTS_LIB_KQUEUE_EVENT_H
#define TESTS_LIB_KQUEUE_EVENT_H

#include <stdint.h>
#include <time.h>

#define EVFILT_VNODE (-4)
#define EV_ADD 0x0001
#define EV_CLEAR 0x0020
#define NOTE_DELETE 0x0001
#define NOTE_WRITE 0x0002
#define NOTE_EXTEND 0x0004
#define NOTE_RENAME 0x0020
#define NOTE_REVOKE 0x0040

struct kevent {
	uintptr_t ident;
	short filter;
	unsigned short flags;
	unsigned fflags;
	int64_t data;
	void *udata;
};

#define EV_SET(kev, i, fi, fl, ff, d, u)                                          \
	(*(kev) = (struct kevent){ .ident = (i), .filter = (fi), .flags = (fl),   \
				   .fflags = (ff), .data = (d), .udata = (u) })

/* Return: descriptor, readable when there are events; or -1 and errno. */
int kqueue(void);
/* Takes one change, or returns one event at most; never waits. Return: events, or -1 and
 * errno. */
int kevent(int kq, const struct kevent *changes, int nchanges, struct kevent *events,
	   int nevents, const struct timespec *timeout);

#endif
