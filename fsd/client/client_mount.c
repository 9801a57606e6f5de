/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the mount of `fsd run`, `fsd submit` and of commands that run many jobs, and
 * catches signals. A private mount ends with its command, so the signals have to be
 * caught before it starts.
 */
#include "client_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "run_int.h"
#include "where.h"
#include "which_mount.h"

/* --- signals ----------------------------------------------------------------------- */

/* Blocks the signals and opens a signalfd for them. It reports a signal also if the
 * signal is ignored. That is not wanted for SIGHUP under nohup. But a shell makes its
 * background commands ignore Ctrl-C by habit; a user who then signals such a command
 * means it. */
void client_signals_catch(struct client_signals *s)
{
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	if (s->more)
		sigaddset(&set, s->more);
	if (sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int client_signal(struct client_signals *s)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	s->last = (int)info.ssi_signo;
	s->got |= 1ull << s->last;
	return s->last;
}

void client_die_of(int number)
{
	sigset_t set;

	if (number != SIGINT && number != SIGTERM && number != SIGHUP)
		return; /* SIGQUIT would dump core */
	fflush(NULL);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* --- the mount --------------------------------------------------------------------- */

static int start_private(struct client_mount *m, const struct run_client *c,
			 struct client_signals *s)
{
	char word[32];
	enum run_opt opt = is_set(c, RUN_KEEP) ? RUN_KEEP : RUN_SESSION;
	int r;

	if (is_set(c, opt))
		return client_complain(2, "%s needs a mount that stays, and a "
				"private one goes with `fsd %s`: give --mount MNT "
				"or FSD_MOUNT", run_option_word(opt, word),
				c->command);
	client_signals_catch(s);
	m->own.rules = c->networks;
	m->own.rule_count = c->network_count;
	r = private_start(&m->own, c->command, s->fd);
	if (r > 128) {
		s->last = r - 128;
		s->got |= 1ull << s->last;
	}
	m->mnt = m->own.mnt;
	m->root = take_fd(&m->own.root);
	return r;
}

int client_mount_at(struct client_mount *m, const char *mnt)
{
	struct err err = { 0 };

	m->mnt = mnt;
	if (where_is_mount(mnt, &err) < 0)
		return client_complain(1, "%s", err.text);
	m->root = open(mnt, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return m->root < 0 ? client_complain(1, "%s: %s", mnt, strerror(errno)) : 0;
}

/* Return: the path of the mount; NULL: a private one is wanted. */
static const char *mount_of(const struct run_client *c)
{
	return is_set(c, RUN_PRIVATE) ? NULL : which_mount(c->value[RUN_MOUNT]);
}

bool client_mount_is_private(const struct run_client *c)
{
	return !mount_of(c);
}

int client_mount_open(struct client_mount *m, const struct run_client *c,
		      struct client_signals *signals)
{
	const char *mnt = mount_of(c);
	int r;

	if (!mnt)
		return start_private(m, c, signals);
	r = client_mount_at(m, mnt);
	/* after asking a mount, which may never answer, and before there is a job that
	 * would remain */
	if (r == 0)
		client_signals_catch(signals);
	return r;
}

void client_mount_close(struct client_mount *m)
{
	fd_close(&m->root);
	private_stop(&m->own);
}

#define PATIENCE_S 60

uint64_t client_patience_ns(void)
{
	const char *text = getenv("FSD_PATIENCE");
	uint64_t s = PATIENCE_S;

	if (!text || parse_u64(text, 0, 86400, &s) < 0)
		s = PATIENCE_S;
	return s * NS_PER_S;
}
