/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds or makes the control groups for machines, sets their limits and removes them.
 * Files and rights differ by version, so version 1 and version 2 have a section each.
 *
 * A struct jail_cgroups owns a descriptor of each group; a flock(2) on it marks the
 * group as used, and groups without a lock are removed. The functions run in the jailer;
 * jail_cgroup_own() also runs in the server.
 */
#include "jail_cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "layout/base/cleanup.h"
#include "layout/base/num.h"

#define MOUNT "/sys/fs/cgroup"
#define PREFIX "fsd-"
#define CONTROL "cgroup.subtree_control"
/* systemd's mark of a delegated group. */
#define DELEGATED "user.delegate"
/* Name of a group inside a delegated one: it gets the processes of the delegated one,
 * which may have none of its own (make_way()). */
#define LEAF "daemon"
#define PERIOD_US 100000u
#define TRIES 5

enum tree { TREE_MEMORY, TREE_PIDS, TREE_CPU };

static const char *const controllers[CGROUP_TREES] = {
	[TREE_MEMORY] = "memory", [TREE_PIDS] = "pids", [TREE_CPU] = "cpu",
};

static int write_at(int dir, const char *file, const char *text)
{
	auto_close int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	return n < 0 ? -errno : 0;
}

/* --- finding a place ---------------------------------------------------- */

bool jail_cgroup_own(const char *controller, char *ret, size_t size)
{
	auto_fclose FILE *f = fopen("/proc/self/cgroup", "re");
	char line[CGROUP_PATH_MAX + 100];

	snprintf(ret, size, "/");
	while (f && fgets(line, sizeof(line), f)) {
		char *list = strchr(line, ':');
		char *path = list ? strchr(list + 1, ':') : NULL;
		char *save = NULL, *word;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		list++;
		if (!*list && !*controller) {
			snprintf(ret, size, "%s", path);
			return true;
		}
		for (word = strtok_r(list, ",", &save); word;
		     word = strtok_r(NULL, ",", &save))
			if (*controller && !strcmp(word, controller)) {
				snprintf(ret, size, "%s", path);
				return true;
			}
	}
	return false;
}

static bool is_numbered(const char *name, const char *prefix)
{
	size_t len = strlen(prefix);

	return !strncmp(name, prefix, len) && name[len] &&
	       strspn(name + len, "0123456789") == strlen(name + len);
}

/* Removes the groups inside first: a group with groups inside cannot be
 * removed. */
static void remove_slots(int base)
{
	int fd = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir)))
		if (is_numbered(e->d_name, "m") && e->d_type == DT_DIR)
			unlinkat(base, e->d_name, AT_REMOVEDIR);
	closedir(dir);
}

/* Removes groups of dead servers: those without a lock. */
static void remove_dead(int parent)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(dir))) {
		auto_close int base = -1;

		if (!is_numbered(e->d_name, PREFIX))
			continue;
		base = openat(parent, e->d_name,
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (base < 0 || flock(base, LOCK_EX | LOCK_NB) < 0)
			continue;
		remove_slots(base);
		unlinkat(parent, e->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

/* Makes and locks our group. Another jailer may take the group for a dead server's and
 * remove it before the lock; then try again. */
static int make_own(struct jail_cgroups *c, int tree)
{
	struct stat made, there;
	int fd;

	for (int i = 0; i < TRIES; i++) {
		if (mkdirat(c->parent[tree], c->name, 0755) < 0 &&
		    errno != EEXIST)
			return -errno;
		fd = openat(c->parent[tree], c->name,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_SH) == 0 &&
		    fstat(fd, &made) == 0 &&
		    fstatat(c->parent[tree], c->name, &there, 0) == 0 &&
		    made.st_ino == there.st_ino) {
			c->base[tree] = fd;
			return 0;
		}
		fd_close(&fd);
	}
	return -EAGAIN;
}

/* Makes our group in a directory, which c owns from now on. */
static int make_base(struct jail_cgroups *c, int tree, int place)
{
	if (place < 0)
		return -errno;
	c->parent[tree] = place;
	remove_dead(place);
	return make_own(c, tree);
}

/* --- version 1 ------------------------------------------------------------- */

/*
 * Makes HIERARCHY/own group/fsd-PID; or HIERARCHY/fsd-PID if our own group is
 * not visible there.
 * Return: 0 or negative errno.
 */
static int make_base_v1(struct jail_cgroups *c, int tree,
			const char *controller)
{
	char own[400], path[512];
	int place;

	jail_cgroup_own(controller, own, sizeof(own));
	snprintf(path, sizeof(path), MOUNT "/%s%s", controller, own);
	place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place < 0) {
		snprintf(path, sizeof(path), MOUNT "/%s", controller);
		place = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return make_base(c, tree, place);
}

static int open_v1(struct jail_cgroups *c)
{
	int r = 0;

	for (int t = 0; r == 0 && t < CGROUP_TREES; t++)
		r = make_base_v1(c, t, controllers[t]);
	return r;
}

/* --- version 2 ------------------------------------------------------------- */

static int open_slot(int base, const char *name)
{
	if (mkdirat(base, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	return openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/*
 * Returns whether the group is delegated to us. For root that is an attribute,
 * because root may write to every group. For a user it is the right to write,
 * the only sign that a user's systemd gives.
 */
static bool is_given(const char *group)
{
	char file[600], mark;

	if (getxattr(group, DELEGATED, &mark, 1) == 1 && mark == '1')
		return true;
	snprintf(file, sizeof(file), "%s/" CONTROL, group);
	return geteuid() != 0 && access(file, W_OK) == 0;
}

/*
 * Finds the directory for our groups: our own group or the one around it, if
 * delegated, else the top. The groups between belong to systemd, which changes
 * their controllers at any time.
 */
static int find_place(bool *ret_given)
{
	char own[400], path[512];

	jail_cgroup_own("", own, sizeof(own));
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(own, '/');

		snprintf(path, sizeof(path), MOUNT "%s", own);
		*ret_given = is_given(path);
		if (*ret_given)
			return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (slash)
			*slash = '\0';
	}
	return open(MOUNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Moves the processes of a group into LEAF: a group that passes controllers on
 * may have no process of its own. */
static int make_way(int place)
{
	auto_close int leaf = open_slot(place, LEAF);
	int fd = openat(place, "cgroup.procs", O_RDONLY | O_CLOEXEC), r = 0;
	auto_fclose FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char pid[32];

	if (!f) {
		r = -errno;
		fd_close(&fd);
		return r;
	}
	while (r == 0 && fgets(pid, sizeof(pid), f)) {
		r = leaf < 0 ? leaf : write_at(leaf, "cgroup.procs", pid);
		if (r == -ESRCH) /* the process has ended */
			r = 0;
	}
	return r;
}

/* Enables the controllers for the groups below dir. Return: 0 or negative
 * errno. */
static int give_controllers(int dir, bool *ret_cpu)
{
	int r = write_at(dir, CONTROL, "+memory");

	if (r == 0)
		r = write_at(dir, CONTROL, "+pids");
	/* a user's part of a system may lack the cpu controller */
	*ret_cpu = r == 0 && write_at(dir, CONTROL, "+cpu") == 0;
	return r;
}

static int open_v2(struct jail_cgroups *c)
{
	bool given;
	int r = make_base(c, 0, find_place(&given));

	for (int i = 0; r == 0; i++) {
		r = give_controllers(c->parent[0], &c->cpu);
		if (r != -EBUSY || i == TRIES || !given)
			break;
		r = make_way(c->parent[0]);
	}
	return r < 0 ? r : give_controllers(c->base[0], &c->cpu);
}

static void init(struct jail_cgroups *c)
{
	*c = (struct jail_cgroups){
		.base = { -1, -1, -1 }, .parent = { -1, -1, -1 },
	};
	snprintf(c->name, sizeof(c->name), PREFIX "%d", (int)getpid());
}

static int open_any(struct jail_cgroups *c)
{
	init(c);
	c->v2 = access(MOUNT "/cgroup.controllers", F_OK) == 0;
	c->cpu = !c->v2;
	return c->v2 ? open_v2(c) : open_v1(c);
}

void jail_cgroups_open(struct jail_cgroups *c, struct walls *w)
{
	int r = open_any(c);

	if (r < 0) {
		wall_set(w, WALL_CGROUP, WALL_DEGRADED,
			 "no control group can be made in " MOUNT " (%s): "
			 "resource limits only%s", strerror(-r), r == -EROFS ?
			 ", and around all machines together the limits of this container" :
			 "; as root, or by systemd-run --user -p Delegate=yes, it can");
		jail_cgroups_close(c);
	} else if (!c->cpu) {
		wall_set(w, WALL_CGROUP, WALL_DEGRADED, "version 2: memory, "
			 "pids; the controller cpu is not given to fsd");
	} else {
		wall_set(w, WALL_CGROUP, WALL_ACTIVE, c->v2 ?
			 "version 2: memory, pids, cpu" : "version 1");
	}
}

/* --- limits ------------------------------------------------------------- */

struct limit {
	bool v2;
	enum tree tree; /* the hierarchy of version 1 */
	const char *file;
	/* ignore an error: a kernel may lack the file, or refuse it at this
	 * moment */
	bool optional;
};

static const struct limit memory_limits[] = {
	{ true, TREE_MEMORY, "memory.max", false },
	{ true, TREE_MEMORY, "memory.swap.max", true },
	/* The limit with swap may never be below the one without. So write it
	 * before, in case it grows, and after, in case it shrinks. */
	{ false, TREE_MEMORY, "memory.memsw.limit_in_bytes", true },
	{ false, TREE_MEMORY, "memory.limit_in_bytes", false },
	{ false, TREE_MEMORY, "memory.memsw.limit_in_bytes", true },
};

static int set_limits(const struct jail_cgroups *c, const int *dirs,
		      const struct jail_limits *limits)
{
	const unsigned cpus = limits->cpus;
	char bytes[32], cpu[48];
	int r = 0;

	snprintf(bytes, sizeof(bytes), "%llu",
		 (unsigned long long)limits->memory_mib << 20);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(memory_limits); i++) {
		const struct limit *l = &memory_limits[i];

		if (l->v2 != c->v2)
			continue;
		r = write_at(dirs[c->v2 ? 0 : l->tree], l->file,
			     strstr(l->file, "swap") ? "0" : bytes);
		if (l->optional && (r == -ENOENT || r == -EINVAL))
			r = 0;
	}
	if (r == 0) {
		snprintf(cpu, sizeof(cpu), "%u", limits->threads);
		r = write_at(dirs[c->v2 ? 0 : TREE_PIDS], "pids.max", cpu);
	}
	if (r < 0 || !c->cpu)
		return r;
	if (c->v2) {
		snprintf(cpu, sizeof(cpu), "%u %u", cpus * PERIOD_US, PERIOD_US);
		r = write_at(dirs[0], "cpu.max", cpu);
	} else {
		snprintf(cpu, sizeof(cpu), "%u", cpus * PERIOD_US);
		r = write_at(dirs[TREE_CPU], "cpu.cfs_quota_us", cpu);
		/* EINVAL: a group above has a smaller quota, which limits this one. */
		if (r == -EINVAL)
			r = 0;
	}
	return r;
}

static int open_slots(const struct jail_cgroups *c, unsigned slot, int *dirs)
{
	char name[32];
	int r = 0;

	snprintf(name, sizeof(name), "m%u", slot);
	for (int t = 0; r >= 0 && t < CGROUP_TREES; t++)
		if (c->base[t] >= 0)
			r = dirs[t] = open_slot(c->base[t], name);
	return MIN(r, 0);
}

static int open_members(const struct jail_cgroups *c, const int *dirs,
			struct jail_groups *ret)
{
	ret->by_itself = !c->v2;
	for (int t = 0; t < CGROUP_TREES; t++) {
		int fd;

		if (dirs[t] < 0)
			continue;
		fd = openat(dirs[t], c->v2 ? "cgroup.procs" : "tasks",
			    O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		ret->fd[ret->count++] = fd;
	}
	return 0;
}

int jail_cgroups_slot(struct jail_cgroups *c, unsigned slot,
		      const struct jail_limits *limits,
		      struct jail_groups *ret)
{
	int dirs[CGROUP_TREES] = { -1, -1, -1 }, r;

	*ret = (struct jail_groups){ .count = 0 };
	if (c->base[0] < 0)
		return 0;
	r = open_slots(c, slot, dirs);
	if (r == 0)
		r = set_limits(c, dirs, limits);
	if (r == 0)
		r = open_members(c, dirs, ret);
	for (int t = 0; t < CGROUP_TREES; t++)
		fd_close(&dirs[t]);
	if (r < 0)
		jail_groups_close(ret);
	return r;
}

int jail_groups_put(const struct jail_groups *g, pid_t pid)
{
	char name[32];

	snprintf(name, sizeof(name), "%d", (int)pid);
	for (unsigned i = 0; !g->by_itself && i < g->count; i++)
		if (write(g->fd[i], name, strlen(name)) < 0)
			return -errno;
	return 0;
}

void jail_groups_close(struct jail_groups *g)
{
	while (g->count)
		fd_close(&g->fd[--g->count]);
}

static bool holds(int base, unsigned slot, pid_t pid)
{
	char name[48];
	long one;
	bool found = false;
	int fd;
	FILE *f;

	snprintf(name, sizeof(name), "m%u/cgroup.procs", slot);
	fd = openat(base, name, O_RDONLY | O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "re");
	if (!f) {
		fd_close(&fd);
		return false;
	}
	while (!found && fscanf(f, "%ld", &one) == 1)
		found = one == pid;
	fclose(f);
	return found;
}

bool jail_cgroups_hold(const struct jail_cgroups *c, unsigned slot, pid_t pid)
{
	for (int t = 0; t < CGROUP_TREES; t++)
		if (c->base[t] >= 0 && !holds(c->base[t], slot, pid))
			return false;
	return true;
}

void jail_cgroups_leave(struct jail_cgroups *c, unsigned slot)
{
	char name[32];

	snprintf(name, sizeof(name), "m%u", slot);
	for (int t = 0; t < CGROUP_TREES; t++)
		if (c->base[t] >= 0)
			unlinkat(c->base[t], name, AT_REMOVEDIR);
}

void jail_cgroups_close(struct jail_cgroups *c)
{
	for (int t = 0; t < CGROUP_TREES; t++) {
		if (c->base[t] >= 0)
			remove_slots(c->base[t]);
		fd_close(&c->base[t]);
		if (c->parent[t] >= 0)
			unlinkat(c->parent[t], c->name, AT_REMOVEDIR);
		fd_close(&c->parent[t]);
	}
}
