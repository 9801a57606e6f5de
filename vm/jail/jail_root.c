/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files that QEMU needs and binds them into a new root.
 *
 * jail_files_find() runs QEMU's dynamic loader to list the libraries, on the host's
 * root. jail_root_enter() runs later, in the jailer's own mount namespace, and pivots
 * into the root. Both run once, at the jailer's start.
 */
#include "jail_root.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "layout/base/cleanup.h"
#include "vm/os/spawn.h"
#include "vm/zygote/wire.h"
#include "zygote_library.h"

#define LOADER_WAIT_MS 10000
#define LIST_MAX 65536

/* --- finding the files -------------------------------------------------- */

static int add(struct jail_files *files, const char *path, const char *inside)
{
	struct jail_file *f = &files->file[files->count];

	if (files->count == JAIL_FILES_MAX || strlen(path) >= JAIL_PATH_MAX ||
	    strlen(inside) >= JAIL_PATH_MAX)
		return -E2BIG;
	memcpy(f->path, path, strlen(path) + 1);
	memcpy(f->inside, inside, strlen(inside) + 1);
	files->count++;
	return 0;
}

const char *jail_file_of(const struct jail_files *files, const char *inside)
{
	for (unsigned i = 0; i < files->count; i++)
		if (!strcmp(files->file[i].inside, inside))
			return files->file[i].path;
	return NULL;
}

/* The directory that has QEMU's bin/; it is part of QEMU's tree, if there is
 * one. */
struct prefix {
	const struct qemu_program *qemu;
	char path[PATH_MAX];
};

static int prefix_of(const struct qemu_program *qemu, struct prefix *ret)
{
	char path[PATH_MAX];
	const char *slash = strrchr(qemu->path, '/');

	ret->qemu = qemu;
	if (!slash)
		return -EINVAL;
	snprintf(path, sizeof(path), "%.*s/..", (int)(slash - qemu->path),
		 qemu->path);
	return realpath(path, ret->path) ? 0 : -errno;
}

/* Returns the rest of path after dir, with its slash; NULL: path is not below
 * dir. */
static const char *below(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && path[len] == '/' ? path + len : NULL;
}

/*
 * Sets ret to the file's path in the jail. QEMU has a tree: the path is unchanged.
 * QEMU has none: a file beside QEMU has its place beside JAIL_QEMU, any other file
 * its own path. Return: 0, or -EXDEV: the file lies outside QEMU's tree, which
 * should have all that QEMU needs.
 */
static int inside_of(const struct prefix *p, const char *path,
		     char ret[PATH_MAX])
{
	const char *root = p->qemu->root;
	const char *tail = below(root[0] ? root : p->path, path);

	if (root[0] && !tail)
		return -EXDEV;
	snprintf(ret, PATH_MAX, "%s%s", tail && !root[0] ? JAIL_PREFIX : "",
		 tail ? tail : path);
	return 0;
}

static int add_once(struct jail_files *files, const char *path,
		    const char *inside)
{
	return jail_file_of(files, inside) ? 0 : add(files, path, inside);
}

/*
 * Adds one line of the loader: "name => /path (0x...)" or "/path (0x...)". A
 * library of the host is bound where the loader has found it, because it
 * searches there again. One that lies beside QEMU is also bound beside QEMU's
 * path in the jail.
 */
static int add_line(struct jail_files *files, const struct prefix *p,
		    char *line)
{
	char *arrow = strstr(line, " => "), inside[PATH_MAX];
	char *path = strchr(arrow ? arrow : line, '/'), *end;
	int r;

	end = path ? strstr(path, " (0x") : NULL;
	if (!end)
		return 0; /* the vDSO is no file */
	*end = '\0';
	r = inside_of(p, path, inside);
	if (r == 0 && !p->qemu->root[0])
		r = add_once(files, path, path);
	return r < 0 ? r : add_once(files, path, inside);
}

/* Runs the loader of QEMU to print the libraries that it would load; QEMU
 * itself does not start. The words behind the path are arguments of QEMU. */
static int ask_loader(const struct qemu_program *qemu, const char *module,
		      struct child *ret, struct err *err)
{
	char preload[PATH_MAX + 16];
	const char *argv[QEMU_WORDS + 4] = {
		"/usr/bin/env", "LD_TRACE_LOADED_OBJECTS=1", preload,
	};
	struct spawn s = { .argv = argv, .want_stdout = true };

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", module);
	memcpy(argv + 3, qemu->word, sizeof(qemu->word));
	return spawn(&s, ret, err);
}

static int add_libraries(struct jail_files *files, const struct prefix *p,
			 const char *module, struct err *err)
{
	const char *qemu = p->qemu->path;
	auto_free char *text = malloc(LIST_MAX);
	char *save = NULL;
	struct child c;
	ssize_t n;
	int r;

	if (!text)
		return err_sys(err, -ENOMEM, "the list of libraries");
	r = ask_loader(p->qemu, module, &c, err);
	if (r < 0)
		return r;
	n = child_read(&c, text, LIST_MAX, LOADER_WAIT_MS);
	child_end(&c);
	r = n < 0 ? (int)n : 0;
	for (char *line = strtok_r(text, "\n", &save); r == 0 && line;
	     line = strtok_r(NULL, "\n", &save))
		r = add_line(files, p, line);
	if (r == -EXDEV)
		return err_set(err, r, "a library of %s is not in its tree %s; "
			       "`fsd qemu bring` brings it anew", qemu,
			       p->qemu->root);
	return r < 0 ? err_sys(err, r, "the libraries of %s", qemu) : 0;
}

/* Finds the first candidate below QEMU's prefix that exists. */
static bool find_beside(const struct prefix *p, const char *const *candidates,
			char ret[PATH_MAX])
{
	char path[PATH_MAX + 64];

	for (; *candidates; candidates++) {
		snprintf(path, sizeof(path), "%s/%s", p->path, *candidates);
		if (access(path, R_OK) == 0 && realpath(path, ret))
			return true;
	}
	return false;
}

/* Some distributions build the emulator as a module, others into QEMU. */
static const char *const modules[] = {
	"lib/x86_64-linux-gnu/qemu/accel-tcg-x86_64.so",
	"lib64/qemu/accel-tcg-x86_64.so", "lib/qemu/accel-tcg-x86_64.so",
	"libexec/qemu/accel-tcg-x86_64.so", NULL,
};

static const char *const firmware[] = {
	"share/qemu/bios-microvm.bin", "share/qemu/qboot.rom",
	"share/qemu-kvm/bios-microvm.bin", NULL,
};

/* Adds a directory that QEMU finds as .../bin/../share: in the jail it has the
 * plain path. */
static int add_beside(struct jail_files *files, const struct prefix *p,
		      const char *const *candidates, const char *name,
		      char ret[PATH_MAX])
{
	char inside[PATH_MAX], *slash;
	int r;

	ret[0] = '\0';
	if (!find_beside(p, candidates, ret))
		return 0;
	r = inside_of(p, ret, inside);
	if (r < 0)
		return r;
	slash = strrchr(inside, '/');
	snprintf(slash, sizeof(inside) - (size_t)(slash - inside), "/%s", name);
	return add(files, ret, inside);
}

int jail_files_find(struct jail_files *files, const struct qemu_program *qemu,
		    const char *image_dir, int kernel, int initrd,
		    struct err *err)
{
	char module[PATH_MAX], bios[PATH_MAX], path[JAIL_PATH_MAX];
	struct prefix p;
	int r = prefix_of(qemu, &p);

	files->count = 0;
	if (r == 0)
		r = add(files, qemu->path, JAIL_QEMU);
	if (r == 0)
		r = add_beside(files, &p, modules, "accel-tcg-x86_64.so",
			       module);
	if (r == 0)
		r = add_beside(files, &p, firmware, "bios-microvm.bin", bios);
	if (r == 0 && !bios[0])
		return err_set(err, -ENOENT, "there is no bios-microvm.bin "
			       "beside %s; install the package "
			       "qemu-system-data", qemu->path);
	snprintf(path, sizeof(path), "%s/vmlinux", image_dir);
	if (r == 0)
		r = add(files, path, JAIL_KERNEL);
	if (r == 0)
		files->file[files->count - 1].same_as = kernel;
	snprintf(path, sizeof(path), "%s/initramfs.cpio", image_dir);
	if (r == 0)
		r = add(files, path, JAIL_INITRD);
	if (r == 0)
		files->file[files->count - 1].same_as = initrd;
	if (r < 0)
		return err_sys(err, r, "QEMU's files");
	return add_libraries(files, &p, module, err);
}

/* --- building the root -------------------------------------------------- */

static int make_parents(int root, const char *inside)
{
	char path[JAIL_PATH_MAX];

	for (const char *p = strchr(inside + 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(path, sizeof(path), "%.*s", (int)(p - inside - 1),
			 inside + 1);
		if (mkdirat(root, path, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* Checks that the bound file is the verified one; its name may have been
 * replaced since. */
static int check_same(int tree, int same_as)
{
	struct stat is, must;

	if (!same_as)
		return 0;
	if (fstat(tree, &is) < 0 || fstat(same_as, &must) < 0)
		return -errno;
	return is.st_dev == must.st_dev && is.st_ino == must.st_ino ? 0 :
								      -ESTALE;
}

static int bind_at(int root, const struct jail_file *f, uint64_t more)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | more,
	};
	auto_close int tree = open_tree(AT_FDCWD, f->path,
					OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	auto_close int place = -1;
	int r = tree < 0 ? -errno : check_same(tree, f->same_as);

	if (r == 0)
		r = make_parents(root, f->inside);

	if (r < 0)
		return r;
	place = openat(root, f->inside + 1, O_CREAT | O_EXCL | O_WRONLY |
		       O_CLOEXEC, 0444);
	if (place < 0)
		return -errno;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr,
		    sizeof(attr)) < 0 ||
	    move_mount(tree, "", root, f->inside + 1,
		       MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* Adds a file with the given bytes. */
static int add_bytes(int root, const char *path, mode_t mode,
		     const char *bytes, size_t size)
{
	auto_close int fd = -1;
	int r = make_parents(root, path);

	if (r < 0)
		return r;
	fd = openat(root, path + 1, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
		    mode);
	return fd < 0 || write(fd, bytes, size) != (ssize_t)size ? -errno : 0;
}

/*
 * QEMU reads this to find out whether it can map memory without reserving it,
 * and ends if it cannot. Where the host has 2 here, the kernel reserves memory
 * all the same.
 */
static int add_overcommit(int root)
{
	return add_bytes(root, "/proc/sys/vm/overcommit_memory", 0444, "1\n",
			 2);
}

static int add_zygote(int root)
{
	return add_bytes(root, ZYGOTE_LIBRARY, 0555, zygote_library,
			 (uintptr_t)zygote_library_end - (uintptr_t)zygote_library);
}

static int make_tmpfs(void)
{
	auto_close int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "size", "256k", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(fs, FSMOUNT_CLOEXEC,
		     MOUNT_ATTR_NOSUID);
	return fd < 0 ? -errno : fd;
}

/* Adds /dev/kvm for machines of every user. In a user namespace the host's own
 * file is bound, and its modes apply. */
static int add_kvm(int root)
{
	static const struct jail_file host = {
		.path = "/dev/kvm", .inside = "/dev/kvm",
	};

	if (mkdirat(root, "dev", 0755) < 0 && errno != EEXIST)
		return -errno;
	if (mknodat(root, "dev/kvm", S_IFCHR | 0600, makedev(10, 232)) < 0)
		return errno == EPERM ? bind_at(root, &host, 0) : -errno;
	return fchmodat(root, "dev/kvm", 0666, 0) < 0 ? -errno : 0;
}

/* Makes "." the root, read-only, and detaches the old root. */
static int become_root(bool devices)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
			    (devices ? 0 : MOUNT_ATTR_NODEV),
	};

	if (syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ||
	    syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attr,
		    sizeof(attr)) < 0)
		return -errno;
	return 0;
}

int jail_root_enter(const struct jail_files *files, bool kvm, struct err *err)
{
	auto_close int tmpfs = -1;
	int root, r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(err, -errno, "a mount namespace");
	tmpfs = make_tmpfs();
	/* Any directory serves as the mount point: the namespace is the
	 * jailer's own. */
	if (tmpfs < 0 || move_mount(tmpfs, "", AT_FDCWD, "/proc",
				    MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return err_sys(err, tmpfs < 0 ? tmpfs : -errno,
			       "an empty root");
	root = tmpfs;
	for (unsigned i = 0; i < files->count; i++) {
		r = bind_at(root, &files->file[i], MOUNT_ATTR_NODEV);
		if (r < 0)
			return err_sys(err, r, "%s in the jail's root",
				       files->file[i].path);
	}
	r = kvm ? add_kvm(root) : 0;
	if (r == 0)
		r = add_overcommit(root);
	if (r == 0)
		r = add_zygote(root);
	if (r == 0)
		r = fchdir(root) < 0 ? -errno : become_root(kvm);
	return r < 0 ? err_sys(err, r, "the jail's root") : 0;
}
