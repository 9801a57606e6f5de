/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and attributes of files in a session's machine, and how the machine is
 * asked (struct ask). Owns the requests in flight. All functions run on the
 * loop; only await() waits in a fiber.
 */
#include "ops_refusal.h"
#include "ops_guest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fsd/control/control.h"
#include "fsd/files/node.h"
#include "fsd/files/guest_inode.h"
#include "fsd/living/machine_files.h"
#include "fsd/living/sandboxes.h"

/* Most time of a request with several answers, before the last one. */
#define ASK_NS (120 * NS_PER_S)

/* --- asking ------------------------------------------------------------------ */

/* Returns the key of the home or root with this top directory, or 0. */
uint64_t guest_root_key(fuse_ino_t ino)
{
	return INO_CLASS(ino) == INO_FSD ? control_files(INO_REST(ino)) : 0;
}

bool guest_is(fuse_ino_t ino)
{
	return INO_CLASS(ino) == INO_GUEST || guest_root_key(ino);
}

/* Finds the path of ino. NULL: it does not exist any more. */
static const char *find(struct fsd *d, fuse_ino_t ino, uint64_t *ret_session)
{
	*ret_session = guest_root_key(ino);
	return *ret_session ? "" : guest_inode_path(d->guest_inodes, ino, ret_session);
}

bool guest_where(fuse_req_t req, fuse_ino_t ino, char *room, size_t size)
{
	uint64_t session = 0;
	const char *path = find(ops_fsd(req), ino, &session);
	struct machine_files h;

	if (!path || !machine_files_find(ops_fsd(req), session, &h) ||
	    !machine_files_are_for(&h, fuse_req_ctx(req)->uid))
		return false;
	snprintf(room, size, "%s/%s/%s%s%s",
		 sandbox_is_single(h.sandbox) ? "sessions" : "sandboxes", h.name,
		 h.tree == WIRE_FS_ROOT ? CONTROL_ROOT : CONTROL_FILES,
		 *path ? "/" : "", path);
	return true;
}

/* Joins dir and name (NULL: dir itself). Return: owned, or NULL. */
static char *join(const char *dir, const char *name)
{
	auto_buf struct buf path = { 0 };

	buf_fmt(&path, "%s%s%s", dir, *dir && name ? "/" : "",
		name ? name : "");
	return path.failed ? NULL : take_ptr(path.data);
}

void ask_free(struct ask *a)
{
	free(a->fs.path);
	free(a->fs.to);
	buf_done(&a->data);
	free(a);
}

/* Refuses because the machine, or its session, is gone. Return: the errno. */
static int refuse_lost(fuse_req_t req, uint64_t key)
{
	struct machine_files h;

	if (!machine_files_find(ops_fsd(req), key, &h))
		return -ESTALE;
	return ops_refuse(req, -ESTALE, h.name,
			  "the sandbox is lost, with all that was in it: %s",
			  sandbox_why(h.sandbox));
}

void ask_fail(struct ask *a, int r)
{
	bool there;
	struct machine_files h;

	if (a->failed && a->failed(a, r))
		return;
	there = machine_files_find(a->d, a->session, &h);
	if (r == -ESTALE && there && !sandbox_is_single(h.sandbox))
		refuse_lost(a->req, a->session);
	else if (r == -ESTALE && a->fs.op >= WIRE_FS_WRITE)
		ops_refuse(a->req, r, there ? h.name : FSD_DIR_NAME,
			   "the session has no machine; files/ is empty until "
			   "one of its steps runs");
	ops_fail(a->req, a->ino, NULL, r);
	ask_free(a);
}

/*
 * Filters an errno of the machine: known ones of filesystems pass, all others
 * become EIO. For ENOSYS the kernel would never use the operation again in the
 * whole mount, and it rejects replies with unknown numbers.
 */
static int believed(int r)
{
	static const int known[] = {
		EPERM, ENOENT, EAGAIN, ENOMEM, EACCES, EBUSY, EEXIST, EXDEV,
		ENOTDIR, EISDIR, EINVAL, ENFILE, EMFILE, ETXTBSY, EFBIG,
		ENOSPC, EROFS, EMLINK, ENAMETOOLONG, ENOTEMPTY, ELOOP,
		EOVERFLOW, EILSEQ, EDQUOT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (r == -known[i])
			return r;
	return -EIO;
}

static void on_done(void *arg, int r, const uint8_t *data, size_t size)
{
	struct ask *a = arg;

	if (r < 0 && a->again && r == -ask_done_error(a->fs.op))
		ask_was_done(a);
	else if (r < 0)
		ask_fail(a, believed(r));
	else
		a->answered(a, data, size);
}

void ask_send(struct ask *a)
{
	struct machine_files h;
	int r = machine_files_find(a->d, a->session, &h)
			? machine_files_ask(&h, &a->fs, on_done, a) : -ESTALE;

	if (r < 0)
		ask_fail(a, r);
}

void ask_again(struct ask *a)
{
	uint64_t session;
	const char *path = find(a->d, a->ino, &session);
	bool late = now_ns() > a->until_ns;
	char *copy = path && !late ? strdup(path) : NULL;

	if (!copy) {
		ask_fail(a, !path ? -ESTALE : late ? -EIO : -ENOMEM);
		return;
	}
	free(a->fs.path);
	a->fs.path = copy;
	ask_send(a);
}

static int check_name(fuse_req_t req, const char *name, enum wire_fs_op op)
{
	return op == WIRE_FS_STAT ? file_name_check(name)
				  : ops_check_file_name(req, CONTROL_FILES, name);
}

/* Checks access and finds the path. Return: 0 or negative errno. */
static int check(fuse_req_t req, fuse_ino_t ino, const char *name,
		 enum wire_fs_op op, char **ret_path, uint64_t *ret_session)
{
	struct fsd *d = ops_fsd(req);
	const char *dir = find(d, ino, ret_session);
	struct machine_files h;
	int r = 0;

	if (!dir || !machine_files_find(d, *ret_session, &h))
		return -ESTALE;
	if (!machine_files_are_for(&h, fuse_req_ctx(req)->uid))
		return -EACCES;
	if (name)
		r = check_name(req, name, op);
	if (r < 0)
		return r;
	*ret_path = join(dir, name);
	if (!*ret_path)
		return -ENOMEM;
	if (**ret_path && !wire_path_ok(*ret_path)) {
		free(take_ptr(*ret_path));
		return -ENAMETOOLONG;
	}
	return 0;
}

static void on_interrupt(fuse_req_t req, void *data)
{
	(void)req;
	sandbox_stop_waiting(data);
}

/* Starts the sandbox at the first use of its files, and waits for that. Looking
 * at the top directory is no use. Return: 0 or negative errno. */
static int await(fuse_req_t req, fuse_ino_t ino, const char *name,
		 enum wire_fs_op op)
{
	struct sandbox_waiter w = { 0 };
	struct err err = { 0 };
	struct machine_files h;
	uint64_t key;
	int r;

	if (!find(ops_fsd(req), ino, &key) ||
	    !machine_files_find(ops_fsd(req), key, &h) || sandbox_is_single(h.sandbox) ||
	    !machine_files_are_for(&h, fuse_req_ctx(req)->uid) ||
	    sandbox_is_there(h.sandbox) || (op == WIRE_FS_STAT && !name))
		return 0;
	if (fuse_req_interrupted(req))
		return -EINTR;
	fuse_req_interrupt_func(req, on_interrupt, &w);
	r = sandbox_wait(h.sandbox, &w, &err);
	fuse_req_interrupt_func(req, NULL, NULL);
	if (r == -ESTALE)
		return refuse_lost(req, key);
	return err.text[0] ? ops_refuse(req, r, FSD_DIR_NAME, "%s", err.text)
			   : r;
}

bool ask(fuse_req_t req, fuse_ino_t ino, const char *name,
	 const struct ask *what)
{
	char *path = NULL;
	uint64_t session;
	struct ask *a;
	int r;

	if (!guest_is(ino))
		return false;
	r = await(req, ino, name, what->fs.op);
	if (r == 0)
		r = check(req, ino, name, what->fs.op, &path, &session);
	a = r < 0 ? NULL : malloc(sizeof(*a));
	if (!a) {
		free(path);
		ops_fail(req, ino, name, r < 0 ? r : -ENOMEM);
		return true;
	}
	*a = *what;
	a->d = ops_fsd(req);
	a->req = req;
	a->ino = ino;
	a->session = session;
	a->until_ns = now_ns() + ASK_NS;
	a->fs.path = path;
	if (ask_done_error(a->fs.op))
		ask_may_be_again(a);
	if (a->begin)
		a->begin(a);
	else
		ask_send(a);
	return true;
}

/* --- attributes ---------------------------------------------------------------- */

static void fill(const struct machine_files *h, const struct wire_fs_stat *from,
		 struct stat *ret)
{
	bool dir = from->kind == WIRE_FILE_DIR;

	memset(ret, 0, sizeof(*ret));
	ret->st_mode = (dir ? S_IFDIR : S_IFREG) | (from->mode & 0777);
	ret->st_nlink = dir ? 2 : 1;
	ret->st_uid = h->uid;
	ret->st_gid = h->gid;
	ret->st_size = dir ? 0 : (off_t)from->size;
	ret->st_blksize = 4096;
	ret->st_blocks = ret->st_size / 512 + (ret->st_size % 512 > 0);
	if (from->mtime.known)
		ret->st_mtim = wire_time_to_set(from->mtime);
	ret->st_atim = ret->st_ctim = ret->st_mtim;
}

bool ask_stat(struct ask *a, const uint8_t *data, size_t size,
	      struct stat *ret)
{
	struct wire_fs_stat st;
	struct machine_files h;
	int r = machine_files_find(a->d, a->session, &h)
			? wire_fs_stat_get(data, size, &st) : -ESTALE;

	if (r == 0 && !a->fs.path[0] && st.kind != WIRE_FILE_DIR)
		r = -EIO;
	if (r < 0) {
		ask_fail(a, r);
		return false;
	}
	fill(&h, &st, ret);
	ret->st_ino = a->ino;
	return true;
}

bool ask_entry(struct ask *a, const uint8_t *data, size_t size,
	       struct fuse_entry_param *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!ask_stat(a, data, size, &ret->attr))
		return false;
	/* The kernel would reject these, and not forget the number. */
	if (a->fs.op != WIRE_FS_STAT &&
	    S_ISDIR(ret->attr.st_mode) != (a->fs.op == WIRE_FS_MKDIR)) {
		ask_fail(a, -EIO);
		return false;
	}
	ret->ino = guest_inode_found(a->d->guest_inodes, a->session, a->fs.path,
				     S_ISDIR(ret->attr.st_mode));
	if (!ret->ino) {
		ask_fail(a, -ENOMEM);
		return false;
	}
	ret->attr.st_ino = ret->ino;
	ret->generation = 1;
	return true;
}

static void entry_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct fuse_entry_param e;

	if (!ask_entry(a, data, size, &e))
		return;
	fuse_reply_entry(a->req, &e);
	ask_free(a);
}

static void attr_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct stat st;

	if (!ask_stat(a, data, size, &st))
		return;
	fuse_reply_attr(a->req, &st, 0);
	ask_free(a);
}

static void ok_answered(struct ask *a, const uint8_t *data, size_t size)
{
	(void)data;
	(void)size;
	ops_done(a->req);
	ask_free(a);
}

static struct wire_time time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return wire_time_of(&now);
}

/* Answers for files/ without a machine: empty and read-only. */
static bool empty_root(struct ask *a, int r)
{
	struct wire_fs_stat st = { .kind = WIRE_FILE_DIR, .mode = 0555,
				   .mtime = time_now() };
	uint8_t data[sizeof(st)];
	struct wire_writer w = { .p = data, .size = sizeof(data) };
	struct machine_files h;

	if ((r != -ESTALE && r != -EIO) || a->fs.path[0] ||
	    !machine_files_find(a->d, a->session, &h))
		return false;
	if (!sandbox_is_single(h.sandbox)) /* a sandbox's machine may start later */
		st.mode = 0755;
	wire_fs_stat_put(&w, &st);
	a->answered(a, data, w.used);
	return true;
}

/* Answers ENOENT for a name in files/ of a session without a machine. */
static bool lookup_failed(struct ask *a, int r)
{
	struct machine_files h;

	if (r != -ESTALE || !guest_root_key(a->ino) ||
	    !machine_files_find(a->d, a->session, &h) || !sandbox_is_single(h.sandbox))
		return false;
	ops_answer(a->req, -ENOENT);
	ask_free(a);
	return true;
}

/* Answers for files/ itself, whose number is that of an entry below .fsd. */
static void root_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct fuse_entry_param e = { .ino = a->ino, .generation = 1 };

	if (!ask_stat(a, data, size, &e.attr))
		return;
	fuse_reply_entry(a->req, &e);
	ask_free(a);
}

static bool lookup_root(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct target t;

	if (INO_CLASS(parent) != INO_FSD ||
	    (strcmp(name, CONTROL_FILES) != 0 && strcmp(name, CONTROL_ROOT) != 0) ||
	    ops_find(req, parent, name, &t) < 0)
		return false;
	return ask(req, ops_ino(&t), NULL, &(struct ask){
		.fs.op = WIRE_FS_STAT,
		.answered = root_answered, .failed = empty_root });
}

bool guest_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	return ask(req, parent, name, &(struct ask){
		.fs.op = WIRE_FS_STAT,
		.answered = entry_answered, .failed = lookup_failed }) ||
	       lookup_root(req, parent, name);
}

bool guest_forgot(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	if (!guest_is(ino))
		return false;
	if (!guest_root_key(ino))
		guest_inode_forget(ops_fsd(req)->guest_inodes, ino, count);
	fuse_reply_none(req);
	return true;
}

bool guest_getattr(fuse_req_t req, fuse_ino_t ino)
{
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = WIRE_FS_STAT,
		.answered = attr_answered, .failed = empty_root });
}

static void access_answered(struct ask *a, const uint8_t *data, size_t size)
{
	struct stat st;

	if (!ask_stat(a, data, size, &st))
		return;
	ops_answer(a->req, S_ISDIR(st.st_mode) || st.st_mode & 0111
				   ? 0 : -EACCES);
	ask_free(a);
}

/* Permits reading and writing: may_open() checks these rights at open. */
bool guest_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	if (!(mask & X_OK))
		return guest_sync(req, ino);
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = WIRE_FS_STAT,
		.answered = access_answered, .failed = empty_root });
}

static struct wire_time time_of(const struct ask *a, const struct timespec *ts,
				int bit, int now_bit)
{
	if (a->to_set & now_bit)
		return time_now();
	return a->to_set & bit ? wire_time_of(ts) : (struct wire_time){ 0 };
}

#define SET_TIMES (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW | \
		   FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)

/* Sends the next change of several; the last answer has all attributes. */
static void set_next(struct ask *a)
{
	int bits = a->to_set;

	if (bits & FUSE_SET_ATTR_MODE) {
		a->fs.op = WIRE_FS_CHMOD;
		a->fs.mode = a->attr.st_mode & 0777;
		bits &= ~FUSE_SET_ATTR_MODE;
	} else if (bits & FUSE_SET_ATTR_SIZE) {
		a->fs.op = WIRE_FS_TRUNCATE;
		a->fs.mode = 0;
		a->fs.offset = (uint64_t)a->attr.st_size;
		bits &= ~FUSE_SET_ATTR_SIZE;
	} else if (bits & SET_TIMES) {
		a->fs.op = WIRE_FS_TIMES;
		a->fs.atime = time_of(a, &a->attr.st_atim, FUSE_SET_ATTR_ATIME,
				      FUSE_SET_ATTR_ATIME_NOW);
		a->fs.mtime = time_of(a, &a->attr.st_mtim, FUSE_SET_ATTR_MTIME,
				      FUSE_SET_ATTR_MTIME_NOW);
		bits &= ~SET_TIMES;
	} else {
		a->fs.op = WIRE_FS_STAT;
	}
	a->to_set = bits;
	ask_again(a);
}

static void set_answered(struct ask *a, const uint8_t *data, size_t size)
{
	if (a->to_set)
		set_next(a);
	else
		attr_answered(a, data, size);
}

static void set_begin(struct ask *a)
{
	struct machine_files h;

	/* Permit a change to the present owner: cp -a and tar make one. */
	if ((a->to_set & FUSE_SET_ATTR_UID) &&
	    (!machine_files_find(a->d, a->session, &h) || a->attr.st_uid != h.uid)) {
		ask_fail(a, -EPERM);
		return;
	}
	a->to_set &= FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_SIZE | SET_TIMES;
	set_next(a);
}

bool guest_setattr(fuse_req_t req, fuse_ino_t ino, const struct stat *attr,
		   int to_set)
{
	return ask(req, ino, NULL, &(struct ask){
		.fs.op = WIRE_FS_CHMOD, .attr = *attr, .to_set = to_set,
		.begin = set_begin, .answered = set_answered });
}

/* --- names ------------------------------------------------------------------------ */

bool guest_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		 mode_t mode)
{
	return ask(req, parent, name, &(struct ask){
		.fs = { .op = WIRE_FS_MKDIR, .mode = mode & 0777 },
		.answered = entry_answered });
}

static void gone_answered(struct ask *a, const uint8_t *data, size_t size)
{
	guest_inode_gone(a->d->guest_inodes, a->session, a->fs.path);
	ok_answered(a, data, size);
}

bool guest_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	return ask(req, parent, name, &(struct ask){
		.fs.op = WIRE_FS_UNLINK, .answered = gone_answered });
}

bool guest_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	return ask(req, parent, name, &(struct ask){
		.fs.op = WIRE_FS_RMDIR, .answered = gone_answered });
}

static void moved_answered(struct ask *a, const uint8_t *data, size_t size)
{
	guest_inode_moved(a->d->guest_inodes, a->session, a->fs.path, a->fs.to);
	ok_answered(a, data, size);
}

static void move_begin(struct ask *a)
{
	uint64_t session;
	int r = check(a->req, a->to_ino, a->to_name, a->fs.op, &a->fs.to,
		      &session);

	if (r == 0 && session != a->session)
		r = -EXDEV;
	if (r < 0)
		ask_fail(a, r);
	else
		ask_send(a);
}

bool guest_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		  fuse_ino_t to, const char *newname, unsigned flags)
{
	int r = 0;

	if (guest_is(parent) != guest_is(to))
		r = EXDEV; /* on EXDEV mv(1) copies */
	else if (guest_is(to) && (flags & ~(unsigned)RENAME_NOREPLACE))
		r = EINVAL;
	if (r)
		ops_fail(req, parent, name, -r);
	return r || ask(req, parent, name, &(struct ask){
		.fs = { .op = WIRE_FS_RENAME,
			.flags = flags ? WIRE_FS_EXCLUSIVE : 0 },
		.to_ino = to, .to_name = newname,
		.begin = move_begin, .answered = moved_answered });
}
