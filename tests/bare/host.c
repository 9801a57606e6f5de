/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsd without the walls that a machine pays for, so that `make bench` can say
 * what they cost: in place of vm/jail/jail_filter.c, vm/jail/jail_cgroup.c and
 * fsd/server/restrain.c, and of what is named after --wrap in the Makefile. It is never
 * installed, and --policy strict refuses to run with it. The root and the user
 * ids stay: the first is made once, the second take microseconds; and a zygote
 * is handed the capabilities without which its children could not change theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fsd/server/restrain.h"
#include "layout/base/num.h"
#include "vm/jail/jail_cgroup.h"
#include "vm/jail/jail_filter.h"
#include "vm/os/rights.h"

#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | \
		    CLONE_NEWUTS | CLONE_NEWCGROUP)
#define ARGS_MAX 128

/* --- system calls: everything passes; RAM is asked for, as ever ----------------- */

int jail_filter_make(unsigned where, struct sock_fprog *ret, struct err *err)
{
	static const struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_RDWR, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	(void)where;
	ret->len = ARRAY_SIZE(program);
	ret->filter = malloc(sizeof(program));
	if (!ret->filter)
		return err_sys(err, -ENOMEM, "the system call filter");
	memcpy(ret->filter, program, sizeof(program));
	return 0;
}

/* --- no namespace, no filter of QEMU's own -------------------------------------- */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_execve(const char *path, char *const argv[], char *const envp[]);
int __wrap_execve(const char *path, char *const argv[], char *const envp[]);

/* The jailer tries each kind of namespace at its start, and does without. */
long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (size_t i = 0; i < ARRAY_SIZE(arg); i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_clone3) {
		const struct clone_args *args = (void *)arg[0];

		if (args->flags & NAMESPACES) {
			errno = EPERM;
			return -1;
		}
	}
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			      arg[5]);
}

int __wrap_execve(const char *path, char *const argv[], char *const envp[])
{
	char *kept[ARGS_MAX];
	size_t n = 0;

	for (size_t i = 0; argv[i] && n < ARGS_MAX - 1; i++) {
		if (!strcmp(argv[i], "-sandbox") && argv[i + 1])
			i++;
		else
			kept[n++] = argv[i];
	}
	kept[n] = NULL;
	return __real_execve(path, kept, envp);
}

/* --- no control group -------------------------------------------------------------- */

bool jail_cgroup_own(const char *controller, char *ret, size_t size)
{
	(void)controller;
	snprintf(ret, size, "/");
	return false;
}

void jail_cgroups_open(struct jail_cgroups *c, struct walls *w)
{
	for (size_t i = 0; i < CGROUP_TREES; i++)
		c->base[i] = c->parent[i] = -1;
	wall_set(w, WALL_CGROUP, WALL_ABSENT, "built without");
}

void jail_cgroups_close(struct jail_cgroups *c)
{
	(void)c;
}

int jail_cgroups_slot(struct jail_cgroups *c, unsigned slot,
		      const struct jail_limits *limits,
		      struct jail_groups *ret)
{
	(void)c, (void)slot, (void)limits;
	ret->count = 0;
	return 0;
}

int jail_groups_put(const struct jail_groups *g, pid_t pid)
{
	(void)g, (void)pid;
	return 0;
}

void jail_groups_close(struct jail_groups *g)
{
	(void)g;
}

bool jail_cgroups_hold(const struct jail_cgroups *c, unsigned slot, pid_t pid)
{
	(void)c, (void)slot, (void)pid;
	return true;
}

void jail_cgroups_leave(struct jail_cgroups *c, unsigned slot)
{
	(void)c, (void)slot;
}

/* --- no rights are given up --------------------------------------------------------- */

int __wrap_rights_keep(const unsigned *caps, size_t count);
int __wrap_rights_bound(const unsigned *caps, size_t count);
int __wrap_rights_landlock(const struct rights_path *paths, size_t count);
int __wrap_rights_landlock_enter(int ruleset);

int __wrap_rights_keep(const unsigned *caps, size_t count)
{
	(void)caps, (void)count;
	return 0;
}

int __wrap_rights_bound(const unsigned *caps, size_t count)
{
	(void)caps, (void)count;
	return 0;
}

int __wrap_rights_landlock(const struct rights_path *paths, size_t count)
{
	(void)paths, (void)count;
	return -ENOSYS;
}

int __wrap_rights_landlock_enter(int ruleset)
{
	(void)ruleset;
	return -ENOSYS;
}

int restrain(const struct mount_options *options, struct own_walls *walls,
	     struct err *err)
{
	(void)options, (void)walls, (void)err;
	return 0;
}
