/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validates requests to the jailer and the descriptors that come with them. The server
 * is less trusted than the jailer, so every field has a range and every descriptor a
 * type.
 *
 * It also has the number of descriptors per kind and the names of the steps. The server
 * uses both to build requests and to explain failures. There is no state.
 */
#include "jail_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "vm/os/accel.h"

const char *const jail_step_names[JAIL_STEPS] = {
	[JAIL_STEP_NONE] = "nothing",
	[JAIL_STEP_UID] = "a user id of its own",
	[JAIL_STEP_CLONE] = "namespaces",
	[JAIL_STEP_CGROUP] = "a control group",
	[JAIL_STEP_FDS] = "descriptors",
	[JAIL_STEP_NAMES] = "names",
	[JAIL_STEP_LIMITS] = "resource limits",
	[JAIL_STEP_LANDLOCK] = "Landlock",
	[JAIL_STEP_IDS] = "user and group",
	[JAIL_STEP_CAPS] = "capabilities",
	[JAIL_STEP_PARENT] = "the jailer",
	[JAIL_STEP_SECCOMP] = "seccomp",
	[JAIL_STEP_EXEC] = "the program",
	[JAIL_STEP_MOST] = "there are as many as there may be",
	[JAIL_STEP_ZYGOTE] = "a zygote",
	[JAIL_STEP_RELAY] = "a relay with its walls",
};

unsigned jail_layers(const struct jail_request *q)
{
	return q->kind == JAIL_BOOT || q->kind == JAIL_RESTORE ||
			       q->kind == JAIL_ZYGOTE ?
		       q->layers : 0;
}

unsigned jail_fd_count(const struct jail_request *q)
{
	static const unsigned counts[JAIL_KINDS] = {
		[JAIL_BOOT] = JAIL_FD_RAM + 1,
		[JAIL_RESTORE] = JAIL_FD_STATE + 1,
		[JAIL_PROBE] = JAIL_FD_QMP + 1,
		[JAIL_ZYGOTE] = JAIL_FD_STATE + 1,
		[JAIL_FORK] = JAIL_FD_WIRE + 1,
		[JAIL_RELAY] = JAIL_FD_NET + 1,
	};

	return q->kind < JAIL_KINDS ? counts[q->kind] + jail_layers(q) : 0;
}

static int check_start(const struct jail_request *q, unsigned fd_count,
		       struct err *err)
{
	if (q->kind >= JAIL_KINDS)
		return err_set(err, -EINVAL, "kind %u is unknown", q->kind);
	if (jail_layers(q) > JAIL_LAYERS_MAX)
		return err_set(err, -EINVAL, "%u layers; it must be 0 to %u",
			       q->layers, JAIL_LAYERS_MAX);
	if (fd_count != jail_fd_count(q))
		return err_set(err, -EINVAL, "%u descriptors came; it must be "
			       "%u", fd_count, jail_fd_count(q));
	if (q->accel != VM_ACCEL_KVM && q->accel != VM_ACCEL_TCG)
		return err_set(err, -EINVAL, "accelerator %u is unknown",
			       q->accel);
	if (q->accel == VM_ACCEL_KVM &&
	    (q->kind == JAIL_ZYGOTE || q->kind == JAIL_FORK))
		return err_set(err, -EINVAL, "only what is emulated can be "
			       "forked");
	if (!q->memory_mib || q->memory_mib > JAIL_MEMORY_MIB_MAX)
		return err_set(err, -EINVAL, "%u MiB of memory; it must be 1 "
			       "to %u", q->memory_mib, JAIL_MEMORY_MIB_MAX);
	if (!q->cpus || q->cpus > JAIL_CPUS_MAX)
		return err_set(err, -EINVAL, "%u processors; it must be 1 to "
			       "%u", q->cpus, JAIL_CPUS_MAX);
	return 0;
}

int jail_request_check(const void *bytes, size_t size, unsigned fd_count,
		       struct jail_request *ret, struct err *err)
{
	if (size != sizeof(*ret))
		return err_set(err, -EINVAL, "a message of %zu bytes", size);
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->version != JAIL_VERSION)
		return err_set(err, -EINVAL, "version %u; it must be %u",
			       ret->version, JAIL_VERSION);
	if (ret->op == JAIL_START)
		return check_start(ret, fd_count, err);
	if (!ret->op || ret->op >= JAIL_OPS)
		return err_set(err, -EINVAL, "operation %u is unknown",
			       ret->op);
	return fd_count ? err_set(err, -EINVAL, "descriptors come with START "
				  "only") : 0;
}

int jail_fds_check(const struct jail_request *q, const int *fds,
		   struct err *err)
{
	static const mode_t types[JAIL_FD_LAYER] = {
		[JAIL_FD_ERR] = S_IFIFO, [JAIL_FD_QMP] = S_IFSOCK,
		[JAIL_FD_NET] = S_IFSOCK,
		[JAIL_FD_WIRE] = S_IFSOCK, [JAIL_FD_ROOTFS] = S_IFREG,
		[JAIL_FD_RAM] = S_IFREG, [JAIL_FD_STATE] = S_IFREG,
	};

	for (unsigned i = 0; i < jail_fd_count(q); i++) {
		bool written = i == JAIL_FD_RAM && q->kind == JAIL_BOOT;
		mode_t type = i < JAIL_FD_LAYER ? types[i] : S_IFREG;
		int flags = fcntl(fds[i], F_GETFL);
		struct stat st;

		if (flags < 0 || flags & O_PATH || fstat(fds[i], &st) < 0 ||
		    (st.st_mode & S_IFMT) != type)
			return err_set(err, -EINVAL, "descriptor %u is not "
				       "what it must be", i);
		if (type == S_IFREG &&
		    (flags & O_ACCMODE) != (written ? O_RDWR : O_RDONLY))
			return err_set(err, -EINVAL, "descriptor %u is not "
				       "open as it must be", i);
	}
	return 0;
}
