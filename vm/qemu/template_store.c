/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes, verifies, opens and removes templates on disk, and small files beside them:
 * verdicts, durations, texts.
 *
 * A new template is made in a directory with a temporary name and renamed when it is
 * complete. flock(2) marks it as used: exclusive for its maker, shared for a server.
 * Functions that take `cancel` read or write all of the RAM: a worker thread runs them.
 */
#include "template_store_int.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "layout/base/cleanup.h"
#include "layout/base/log.h"
#include "layout/base/num.h"
#include "verified.h"
#include "vm/os/loop.h"
#include "vm/os/temp.h"

#define META_MAX 2048
#define COPY_BLOCK 16384u
#define VERDICT_S (24 * 3600)
#define LASTS_S (24 * 3600)

static const char *const file_names[] = { "ram", "state", "meta", "meta.tmp",
					   "cold", "of" };

int template_store_open_parent(const char *cache_dir)
{
	auto_close int cache = -1;
	int fd;

	if (mkdir(cache_dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	cache = open(cache_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cache < 0)
		return -errno;
	if (mkdirat(cache, "templates", 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(cache, "templates", O_RDONLY | O_DIRECTORY | O_CLOEXEC |
						O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

void template_store_remove_dir(int parent, const char *name)
{
	auto_close int dir = openat(parent, name, O_RDONLY | O_DIRECTORY |
							  O_CLOEXEC |
							  O_NOFOLLOW);

	if (dir < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(file_names); i++)
		unlinkat(dir, file_names[i], 0);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* --- making one --------------------------------------------------------- */

static int begin(uint64_t ram_bytes, struct template_store_new *n)
{
	if (mkdirat(n->parent, n->name, 0700) < 0)
		return -errno;
	n->dir = openat(n->parent, n->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (n->dir < 0 || flock(n->dir, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	/*
	 * RAM in memory until the template is complete. A booting guest writes
	 * each page again and again. In a file, each write after a write-back
	 * of the page would fault into the filesystem.
	 */
	n->ram = memfd_create("fsd-template", MFD_CLOEXEC);
	n->state = openat(n->dir, "state",
			  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (n->ram < 0 || n->state < 0 ||
	    ftruncate(n->ram, (off_t)ram_bytes) < 0)
		return -errno;
	return 0;
}

int template_store_begin(const char *cache_dir, const struct template_store_of *of,
			 uint64_t ram_bytes, struct template_store_new *ret, struct err *err)
{
	struct template_store_new n = TEMPLATE_STORE_NEW_INIT;
	int r;

	n.began_ns = now_ns();
	snprintf(n.of, sizeof(n.of), "%.16s", of->environment_id);
	n.parent = template_store_open_parent(cache_dir);
	if (n.parent < 0)
		return err_sys(err, n.parent, "%s", cache_dir);
	temp_name(NEW_PREFIX, n.name);
	r = begin(ram_bytes, &n);
	if (r == 0)
		r = template_store_put_of(n.dir, of);
	if (r < 0) {
		template_store_abandon(&n);
		return err_sys(err, r, "a new template in %s", cache_dir);
	}
	*ret = n;
	return 0;
}

static void template_store_close(struct template_store_new *n)
{
	fd_close(&n->ram);
	fd_close(&n->state);
	fd_close(&n->dir);
	fd_close(&n->parent);
}

void template_store_abandon(struct template_store_new *n)
{
	if (n->parent >= 0)
		template_store_remove_dir(n->parent, n->name);
	template_store_close(n);
}

int template_store_write_file(int dir, const char *name, const char *text)
{
	size_t len = strlen(text);
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC |
						     O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return write(fd, text, len) == (ssize_t)len ? 0 : -EIO;
}

void template_store_put_cold(const struct template_store_new *n, const char *cold)
{
	int r = cold[0] ? template_store_write_file(n->dir, "cold", cold) : 0;

	if (r < 0)
		log_warn("a template's list of cold modules is not kept: %s",
			 strerror(-r));
}

static void print_meta(const struct template_store_meta *m, char text[META_MAX])
{
	snprintf(text, META_MAX,
		 "format %u\nkey %s\naccel %s\nrunners %u\n"
		 "walls %u\ntsc_khz %u\nboot_ms %u\nmade %llu\nstate %s\n"
		 "ram %s\n",
		 TEMPLATE_STORE_FORMAT, m->key, vm_accel_names[m->accel], m->runners,
		 m->walls, m->tsc_khz, m->boot_ms,
		 (unsigned long long)m->made_s, m->state_sum, m->ram_sum);
}

static int write_meta(int dir, const struct template_store_meta *m)
{
	char text[META_MAX];
	int r;

	print_meta(m, text);
	r = template_store_write_file(dir, "meta.tmp", text);
	if (r == 0 && renameat(dir, "meta.tmp", dir, "meta") < 0)
		r = -errno;
	return r;
}

static int copy_block(int to, int from, off_t at, size_t len, char *block)
{
	static const char zero[COPY_BLOCK];
	ssize_t n = pread(from, block, len, at);

	if (n != (ssize_t)len)
		return n < 0 ? -errno : -EIO;
	if (memcmp(block, zero, len) == 0)
		return 0;
	n = pwrite(to, block, len, at);
	if (n != (ssize_t)len)
		return n < 0 ? -errno : -ENOSPC;
	return 0;
}

/* Copies a file and leaves out blocks of zeros, so that they are holes. */
static int copy_sparse(int to, int from, const atomic_bool *cancel)
{
	char block[COPY_BLOCK];
	struct stat st;
	off_t end = 0;
	int r = fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0 ?
			-errno : 0;

	while (r == 0) {
		off_t at = lseek(from, end, SEEK_DATA);

		if (at < 0)
			return errno == ENXIO ? 0 : -errno;
		end = lseek(from, at, SEEK_HOLE);
		if (end < 0)
			return -errno;
		for (; r == 0 && at < end; at += COPY_BLOCK)
			r = cancel && atomic_load(cancel) ? -ECANCELED :
				copy_block(to, from, at,
					   MIN((size_t)(end - at),
					       sizeof(block)), block);
	}
	return r;
}

/* Gives the new template the final name; the old one gets a temporary name. */
static int replace(const struct template_store_new *n, const char *name)
{
	char old[64];

	if (renameat2(n->parent, n->name, n->parent, name, RENAME_EXCHANGE) < 0)
		return errno == ENOENT ? -ENOENT : -errno;
	temp_name(OLD_PREFIX, old);
	return renameat(n->parent, n->name, n->parent, old) < 0 ? -errno : 0;
}

static int save_ram(const struct template_store_new *n, const atomic_bool *cancel)
{
	/* Mode 0600, not 0400: QEMU opens it for writing even for a private
	 * mapping. */
	auto_close int fd = openat(n->dir, "ram", O_RDWR | O_CREAT | O_EXCL |
							   O_CLOEXEC, 0600);

	return fd < 0 ? -errno : copy_sparse(fd, n->ram, cancel);
}

static int commit(struct template_store_new *n, struct template_store_meta *meta, bool replaces,
		  const atomic_bool *cancel)
{
	char name[17];
	int r = sha_file(n->state, cancel, meta->state_sum);

	if (r == 0)
		r = sha_sparse(n->ram, cancel, meta->ram_sum);
	if (r == 0)
		r = save_ram(n, cancel);
	meta->made_s = realtime_ns() / NS_PER_S;
	if (r == 0)
		r = write_meta(n->dir, meta);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%.16s", meta->key);
	r = replaces ? replace(n, name) : -ENOENT;
	if (r != -ENOENT)
		return r;
	if (renameat2(n->parent, n->name, n->parent, name, RENAME_NOREPLACE) <
	    0)
		return errno == EEXIST ? -EEXIST : -errno;
	return 0;
}

static void took_name(enum vm_accel accel, const char *of, char ret[40])
{
	snprintf(ret, 40, "took-%s%s%.16s", vm_accel_names[accel],
		 *of ? "-" : "", of);
}

/* Stores the duration for the estimate of the next template. A failure is ignored. */
static void note_time(const struct template_store_new *n, enum vm_accel accel)
{
	char name[40], tmp[64], text[24];

	took_name(accel, n->of, name);
	temp_name(".took-", tmp);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)
		 ((now_ns() - n->began_ns) / NS_PER_MS));
	if (template_store_write_file(n->parent, tmp, text) < 0 ||
	    renameat(n->parent, tmp, n->parent, name) < 0)
		unlinkat(n->parent, tmp, 0);
}

int template_store_commit(struct template_store_new *n,
			  struct template_store_meta *meta, bool replaces,
			  const atomic_bool *cancel, struct err *err)
{
	int r = commit(n, meta, replaces, cancel);

	if (r == 0)
		note_time(n, meta->accel);
	if (r < 0)
		template_store_abandon(n);
	else
		template_store_close(n);
	if (r < 0 && r != -EEXIST)
		return err_sys(err, r, "saving the template");
	return 0;
}

/* --- using one ---------------------------------------------------------- */

int template_store_read_text(int dir, const char *name, char *text, size_t size)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC |
						      O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return 0;
}

void template_store_get_cold(int dir, char ret[WIRE_COLD_MAX + 1])
{
	if (template_store_read_text(dir, "cold", ret, WIRE_COLD_MAX + 1) < 0 ||
	    !wire_cold_ok(ret))
		ret[0] = '\0';
}

static int accel_parse(const char *name, enum vm_accel *ret)
{
	for (unsigned i = VM_ACCEL_KVM; i < VM_ACCEL_MAX; i++)
		if (!strcmp(name, vm_accel_names[i])) {
			*ret = i;
			return 0;
		}
	return -EBADMSG;
}

static bool is_sum(const char *text)
{
	return strlen(text) == SHA_HEX - 1;
}

/* The text is valid if print_meta() of the parsed values gives the same text. */
int template_store_meta_parse(const char *text, struct template_store_meta *ret)
{
	struct template_store_meta m = { .accel = VM_ACCEL_AUTO };
	char again[META_MAX], accel[8];
	unsigned long long made = 0;

	if (sscanf(text,
		   "format %*u\nkey %64[0-9a-f]\naccel %7[a-z]\nrunners %u\n"
		   "walls %u\ntsc_khz %u\nboot_ms %u\nmade %llu\n"
		   "state %64[0-9a-f]\nram %64[0-9a-f]\n",
		   m.key, accel, &m.runners, &m.walls, &m.tsc_khz, &m.boot_ms,
		   &made, m.state_sum, m.ram_sum) != 9 ||
	    accel_parse(accel, &m.accel) < 0)
		return -EBADMSG;
	m.made_s = made;
	print_meta(&m, again);
	if (strcmp(text, again) != 0 || !is_sum(m.key) ||
	    !is_sum(m.state_sum) || !is_sum(m.ram_sum))
		return -EBADMSG;
	*ret = m;
	return 0;
}

static int read_meta(int dir, struct template_store_meta *m)
{
	char text[META_MAX];
	int r = template_store_read_text(dir, "meta", text, sizeof(text));

	return r < 0 ? r : template_store_meta_parse(text, m);
}

static int verify_file(int dir, const char *name, const char *want,
		       bool sparse, const char *cache_dir,
		       const atomic_bool *cancel)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC |
						      O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? -EBADMSG : -errno;
	return verified_compare(cache_dir, fd, want, sparse, cancel);
}

int template_store_verify(int dir, const char *key, const char *cache_dir,
			  const atomic_bool *cancel, struct template_store_meta *m,
			  struct err *err)
{
	int r = read_meta(dir, m);

	if (r == 0 && strcmp(m->key, key))
		r = -EBADMSG;
	if (r < 0)
		return err_set(err, r == -ENOENT ? -EBADMSG : r,
			       "the template's meta file is damaged");
	r = verify_file(dir, "state", m->state_sum, false, cache_dir, cancel);
	if (r < 0)
		return err_set(err, r, "the template's device state is "
				       "damaged");
	r = verify_file(dir, "ram", m->ram_sum, true, cache_dir, cancel);
	if (r < 0)
		return err_set(err, r, "the template's memory is damaged");
	return 0;
}

int template_store_open(const struct vm_options *options, const char *key,
			const atomic_bool *cancel, struct stored_template *ret,
			struct err *err)
{
	const char *cache_dir = options->cache_dir;
	auto_close int parent = template_store_open_parent(cache_dir), dir = -1;
	char name[17];
	int r;

	if (parent < 0)
		return err_sys(err, parent, "%s", cache_dir);
	snprintf(name, sizeof(name), "%.16s", key);
	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
					   O_NOFOLLOW);
	if (dir < 0)
		return err_sys(err, -errno, "template %s", name);
	/* The lock keeps template_store_clean() from removing it; the mtime shows its
	 * use. */
	if (flock(dir, LOCK_SH | LOCK_NB) < 0 || futimens(dir, NULL) < 0)
		return err_sys(err, -errno, "template %s", name);
	r = template_store_verify(dir, key, cache_dir, cancel, &ret->meta, err);
	if (r < 0)
		return r;
	ret->dir = take_fd(&dir);
	return 0;
}

int template_store_drop(const char *cache_dir, const char *key, const char *why)
{
	auto_close int parent = template_store_open_parent(cache_dir);
	char name[17], old[64];

	log_warn("template %.16s is thrown away: %s", key, why);
	if (parent < 0)
		return parent;
	snprintf(name, sizeof(name), "%.16s", key);
	temp_name(OLD_PREFIX, old);
	/* The name goes first, so that no server opens a template that is half removed. */
	if (renameat(parent, name, parent, old) < 0)
		return -errno;
	template_store_remove_dir(parent, old);
	return 0;
}

/* --- the accelerator's choice ------------------------------------------- */

static int verdict_read(int parent, const char *name, enum vm_accel *ret)
{
	char text[16];
	struct stat st;
	time_t age;
	int r = template_store_read_text(parent, name, text, sizeof(text));

	if (r < 0)
		return r;
	text[strcspn(text, "\n")] = '\0';
	r = accel_parse(text, ret);
	if (r < 0 || *ret == VM_ACCEL_KVM)
		return r;
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	age = time(NULL) - st.st_mtime;
	return age < 0 || age > VERDICT_S ? -ENOENT : 0;
}

int template_store_accel_get(const char *cache_dir, const char *what,
			     enum vm_accel *ret)
{
	auto_close int parent = template_store_open_parent(cache_dir);
	char name[32];

	if (parent < 0)
		return parent;
	snprintf(name, sizeof(name), "accel-%.16s", what);
	return verdict_read(parent, name, ret);
}

/* Searches the results of all kernels and processors: this only informs a
 * person. */
bool vm_kvm_fails(const char *cache_dir)
{
	auto_free char *path = NULL;
	enum vm_accel accel;
	struct dirent *e;
	bool fails = false;
	DIR *dir;

	if (asprintf(&path, "%s/templates", cache_dir) < 0)
		return false;
	dir = opendir(path);
	while (dir && !fails && (e = readdir(dir)))
		fails = !strncmp(e->d_name, "accel-", 6) &&
			verdict_read(dirfd(dir), e->d_name, &accel) == 0 &&
			accel == VM_ACCEL_TCG;
	if (dir)
		closedir(dir);
	return fails;
}

int template_store_accel_put(const char *cache_dir, const char *what,
			     enum vm_accel accel)
{
	auto_close int parent = template_store_open_parent(cache_dir);
	char name[32], tmp[64], text[16];
	int r;

	if (parent < 0)
		return parent;
	snprintf(name, sizeof(name), "accel-%.16s", what);
	temp_name(".accel-", tmp);
	snprintf(text, sizeof(text), "%s\n", vm_accel_names[accel]);
	r = template_store_write_file(parent, tmp, text);
	if (r == 0 && renameat(parent, tmp, parent, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(parent, tmp, 0);
	return r;
}

unsigned template_store_took_ms(const char *cache_dir, enum vm_accel accel,
				const char *environment_id)
{
	auto_close int parent = template_store_open_parent(cache_dir);
	char name[40], text[24];
	uint64_t ms;

	took_name(accel, environment_id, name);
	if (parent < 0 || template_store_read_text(parent, name, text, sizeof(text)) < 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return parse_u64(text, 1, 3600 * 1000, &ms) < 0 ? 0 : (unsigned)ms;
}

int template_store_text_get(const char *cache_dir, const char *name, char *ret,
			    size_t size)
{
	auto_close int parent = template_store_open_parent(cache_dir);

	return parent < 0 ? parent : template_store_read_text(parent, name, ret, size);
}

int template_store_text_put(const char *cache_dir, const char *name, const char *text)
{
	auto_close int parent = template_store_open_parent(cache_dir);
	char tmp[64];
	int r;

	if (parent < 0)
		return parent;
	temp_name(".text-", tmp);
	r = template_store_write_file(parent, tmp, text);
	if (r == 0 && renameat(parent, tmp, parent, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(parent, tmp, 0);
	return r;
}

bool template_store_meta_is_old(const struct template_store_meta *m, uint64_t *ret_due_ns)
{
	uint64_t now = realtime_ns() / NS_PER_S;
	struct timespec up = { 0 };

	clock_gettime(CLOCK_BOOTTIME, &up);
	if (m->made_s + LASTS_S <= now || m->made_s + (uint64_t)up.tv_sec < now)
		return true;
	*ret_due_ns = now_ns() + (m->made_s + LASTS_S - now) * NS_PER_S;
	return false;
}
