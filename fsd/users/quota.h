/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of each user: jobs, bytes, runs at a time. A quota holds for every uid,
 * root's too. The owner of a job pays, also for files that another user writes in it.
 *
 * Bytes are the sizes of the regular files below a job's files/, sink/ and rN/ in the
 * state directory, not the blocks that they take. The record of the order of a run's
 * output does not count. A file that was deleted while it is open counts until it is
 * closed. quota.c has the sums and knows no job and no file; files/file_quota.c
 * reports both.
 *
 * Without any quota there is no struct quota, and each call here is a comparison.
 * Context: the loop or a fiber; no function waits.
 */
#ifndef FSD_QUOTA_H
#define FSD_QUOTA_H

#include <stdint.h>
#include <sys/types.h>

#include "layout/layout.h"

struct quota;
struct quota_user;

struct quota_limits {
	uint64_t jobs, bytes, running; /* 0: no limit */
	bool count_bytes; /* count bytes also without a limit */
};

struct quota_use {
	uint64_t jobs, bytes, running, waiting;
};

/* Parses "4096", "10K", "2M", "1G". Return: 0, -EINVAL or -ERANGE. */
int quota_parse_size(const char *text, uint64_t *ret_bytes);

/* *ret is NULL if there is no limit at all and count_bytes is false. All functions below
 * accept that NULL. Return: 0 or -ENOMEM. */
int quota_new(const struct quota_limits *limits, struct quota **ret);
void quota_free(struct quota *q);
/* Finds the use and the limits of uid. Return: false if there are no quotas. */
bool quota_of(struct quota *q, uid_t uid, struct quota_use *ret_use,
	      struct quota_limits *ret_limits);
void quota_each(struct quota *q,
		void (*fn)(void *arg, uid_t uid, const struct quota_use *use),
		void *arg);

bool quota_counts_bytes(const struct quota *q);
/* Finds or makes the sums of uid. Return: NULL without quotas or without memory. */
struct quota_user *quota_user(struct quota *q, uid_t uid);
void quota_count_job(struct quota_user *u, int more);
/* Return: 0, or -EDQUOT with a sentence if uid may not have one more job. */
int quota_check_job(struct quota *q, uid_t uid, struct err *err);

/* Return: true if the bytes of users are counted. u may be NULL. */
bool quota_has_bytes(const struct quota_user *u);
uint64_t quota_bytes(const struct quota_user *u); /* 0: the user's bytes are not
						   * counted */
uint64_t quota_left(const struct quota_user *u); /* UINT64_MAX: no limit */
/* Adds bytes that exist already, so it never fails. To subtract, pass -bytes. */
void quota_count_bytes(struct quota_user *u, uint64_t more);
/* Return: 0; -EDQUOT with a sentence: there is no space for so many more bytes. */
int quota_check_bytes(const struct quota_user *u, uint64_t more,
		      struct err *err);

/* True if one more run of the user may have a machine. The caller counts the user's runs
 * that have a machine, and those that wait; sched.c chooses among these. u may be
 * NULL. */
bool quota_may_run(const struct quota_user *u);
void quota_count_running(struct quota_user *u, int more);
void quota_count_waiting(struct quota_user *u, int more);
/* Return: how many of the user's runs may have a machine at a time; 0: no limit. */
uint64_t quota_running(const struct quota_user *u);

#endif
