/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a QEMU from a template: opens the template's files, makes the wire's
 * socket pair and orders the descriptors for the jailer. The file has no state.
 *
 * Machines, zygotes and page probes share it. restore_fork() needs no files, since
 * the zygote's child has the memory already. All functions run on the loop.
 */
#include "restore.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"
#include "vm/jail/argv.h"

/* Starts the process; common to all kinds. fds: the descriptors of the kind,
 * except the wire's. */
static int start(const struct template_context *g, struct jail_request *what,
		 const struct template *t, const struct vm_class *cls, int *fds,
		 const struct process_events *ev, void *arg,
		 struct process **ret, int *ret_wire, struct err *err)
{
	auto_close int ours = -1, theirs = -1;
	int pair[2], r;

	what->accel = template_accel(t);
	what->memory_mib = cls->memory_mib;
	what->cpus = cls->cpus;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		return err_sys(err, -errno, "a machine's wire");
	ours = pair[0];
	theirs = pair[1];
	fds[0] = theirs;
	r = process_new(g->host->loop, g->jail, what, fds, ev, arg, ret, err);
	if (r == 0)
		*ret_wire = take_fd(&ours);
	return r;
}

unsigned restore_layers(const struct vm_class *cls, int *ret)
{
	const struct environment *e = cls->environment;
	unsigned n = e ? MIN(e->layer_count, JAIL_LAYERS_MAX) : 0;

	for (unsigned i = 0; i < n; i++)
		ret[i] = e->layers[i].fd;
	return n;
}

int restore_start(const struct template_context *g, const struct template *t,
		  const struct vm_class *cls, enum jail_kind kind,
		  const struct process_events *ev,
		  void *arg, struct process **ret, int *ret_wire,
		  struct err *err)
{
	struct jail_request what = { .kind = kind };
	auto_close int state = openat(template_dir(t), "state",
				      O_RDONLY | O_CLOEXEC);
	auto_close int ram = openat(template_dir(t), "ram",
				    O_RDONLY | O_CLOEXEC);
	int fds[JAIL_FDS_MAX] = { -1, g->image.fds[IMAGE_ROOTFS], ram, state };

	if (state < 0 || ram < 0)
		return err_sys(err, -errno, "the template's files");
	what.layers = restore_layers(template_class(t), fds + 4);
	return start(g, &what, t, cls, fds, ev, arg, ret, ret_wire, err);
}

int restore_fork(const struct template_context *g, const struct template *t,
		 const struct vm_class *cls, uint32_t zygote, bool hot,
		 const struct process_events *ev, void *arg,
		 struct process **ret, int *ret_wire, struct err *err)
{
	struct jail_request what = {
		.kind = JAIL_FORK, .zygote = zygote, .copies = hot,
	};
	int fds[1];

	return start(g, &what, t, cls, fds, ev, arg, ret, ret_wire, err);
}

void restore_send(void (*send)(void *arg, const char *command,
			       const char *arguments), void *arg)
{
	char uri[32];

	snprintf(uri, sizeof(uri), "{\"uri\":\"fd:%d\"}", ARGV_FD_STATE);
	send(arg, "qmp_capabilities", NULL);
	send(arg, "migrate-set-capabilities",
	     "{\"capabilities\":[{\"capability\":\"x-ignore-shared\","
	     "\"state\":true},{\"capability\":\"events\",\"state\":true}]}");
	send(arg, "migrate-incoming", uri);
}

bool restore_is_complete(const char *event, const char *status)
{
	return !strcmp(event, "MIGRATION") && !strcmp(status, "completed");
}
