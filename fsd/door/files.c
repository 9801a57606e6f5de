/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the door needs of the host's files before it gives up its rights: the
 * operator's policy, the certificates that it names, the ids of its users, and the hosts
 * file. Then it sends policy, ids and certificates to the server, in sealed memory, so
 * that both decide by the same bytes.
 *
 * The policy and the certificates must belong to root or to the user who runs fsd, and
 * no other user may write them: they decide what every job may reach.
 */
#include "door.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "layout/json.h"
#include "vm/os/fdpass.h"
#include "vm/os/spawn.h"

#define CA_MOST (48u << 10)
#define HOSTS_MOST (8u << 20)
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int read_all(int fd, const char *path, struct buf *ret, struct err *err)
{
	ssize_t n;

	do {
		int r = buf_reserve(ret, 4096);

		if (r == -EFBIG)
			return err_set(err, -EFBIG, "%s has more than %zu bytes", path,
				       ret->cap - 4096);
		if (r < 0)
			return err_sys(err, r, "%s", path);
		n = read(fd, ret->data + ret->len, 4096);
		if (n < 0 && errno != EINTR)
			return err_sys(err, -errno, "%s", path);
		ret->len += n > 0 ? (size_t)n : 0;
	} while (n);
	return 0;
}

static int check_owner(const char *path, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EINVAL, "%s is no file", path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return err_set(err, -EPERM, "%s belongs to uid %u; it must belong to root "
			       "or to the user who runs fsd (uid %u)", path, st->st_uid,
			       geteuid());
	if (st->st_mode & 022)
		return err_set(err, -EPERM, "%s may be written by others (mode %04o); "
			       "only its owner may: chmod go-w %s", path,
			       st->st_mode & 07777u, path);
	return 0;
}

/* Reads a file that only root and fsd's user may have written. */
static int read_trusted(const char *path, struct buf *ret, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, -errno, "%s", path);
	r = check_owner(path, &st, err);
	return r < 0 ? r : read_all(fd, path, ret, err);
}

/* --- the policy ---------------------------------------------------------- */

/* {"allow": [RULE...]} */
static int policy_of_rules(const struct door_files *f, struct buf *ret, struct err *err)
{
	buf_str(ret, "{\"allow\": [");
	for (size_t i = 0; i < f->rule_count; i++) {
		buf_str(ret, i ? ", " : "");
		json_quote(ret, f->rules[i], strlen(f->rules[i]));
	}
	buf_str(ret, "]}");
	return ret->failed ? err_sys(err, ret->failed, "the rules") : 0;
}

static int find_users(const struct net_policy *p, uint32_t *ids, struct err *err)
{
	for (size_t i = 0; i < p->user_count; i++) {
		const char *name = p->user[i].name;
		const struct passwd *user;
		uint64_t number;

		if (parse_u64(name, 0, UINT32_MAX - 1, &number) == 0) {
			ids[i] = (uint32_t)number;
			continue;
		}
		user = getpwnam(name);
		if (!user)
			return err_set(err, -EINVAL, "\"users\" has \"%s\", which is no "
				       "user of this host", name);
		ids[i] = user->pw_uid;
	}
	return 0;
}

static int read_ca(const char *policy, const char *ca, struct buf *ret, struct err *err)
{
	const char *slash = strrchr(policy, '/');
	auto_buf struct buf path = { .cap = PATH_MAX };
	int r;

	if (ca[0] != '/' && slash)
		buf_add(&path, policy, (size_t)(slash - policy) + 1);
	buf_str(&path, ca);
	if (path.failed)
		return err_set(err, -ENAMETOOLONG, "\"ca\": its path is too long");
	ret->cap = CA_MOST + 4096;
	r = read_trusted(path.data, ret, err);
	if (r == 0 && ret->len > CA_MOST)
		r = err_set(err, -EFBIG, "%s has %zu bytes; at most %u are allowed",
			    path.data, ret->len, CA_MOST);
	if (r == 0 && (strlen(ret->data ? ret->data : "") != ret->len ||
		       !strstr(ret->data ? ret->data : "", "-----BEGIN CERTIFICATE-----")))
		r = err_set(err, -EINVAL, "%s has no certificate in PEM form", path.data);
	return r < 0 ? err_wrap(err, "\"ca\"") : 0;
}

static int read_policy(struct door *d, const struct door_files *f, struct door_texts *ret,
		       struct err *err)
{
	const char *of = f->policy ? f->policy : "--network-allow";
	int r;

	ret->policy.cap = NET_POLICY_BYTES + 2 * 4096;
	if (f->policy)
		r = read_trusted(f->policy, &ret->policy, err);
	else
		r = policy_of_rules(f, &ret->policy, err);
	if (r < 0)
		return r;
	r = net_policy_parse(ret->policy.data ? ret->policy.data : "", ret->policy.len,
			     &d->policy, err);
	if (r < 0)
		return err_wrap(err, "%s", of);
	ret->ids = calloc(d->policy.user_count + 1, sizeof(*ret->ids));
	if (!ret->ids)
		return err_sys(err, -ENOMEM, "%s", of);
	r = find_users(&d->policy, ret->ids, err);
	if (r == 0 && d->policy.ca && f->policy)
		r = read_ca(f->policy, d->policy.ca, &ret->ca, err);
	if (r < 0)
		return err_wrap(err, "%s", of);
	r = net_policy_number_users(&d->policy, ret->ids, d->policy.user_count);
	return r < 0 ? err_sys(err, r, "%s", of) : 0;
}

/* Without a hosts file, or with one that is too large, there are no names of the host. */
static int read_hosts(struct door *d, const char *path, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	auto_buf struct buf text = { .cap = HOSTS_MOST };

	if (fd < 0 || read_all(fd, path, &text, NULL) < 0)
		return 0;
	return hosts_read(text.data ? text.data : "", text.len, &d->hosts) < 0 ?
		       err_sys(err, -ENOMEM, "%s", path) : 0;
}

int files_read(struct door *d, const struct door_files *f, struct door_texts *ret,
	       struct err *err)
{
	int r = read_policy(d, f, ret, err);

	return r < 0 ? r : read_hosts(d, f->hosts, err);
}

void texts_done(struct door_texts *t)
{
	buf_done(&t->policy);
	buf_done(&t->ca);
	free(t->ids);
	t->ids = NULL;
	fd_close(&t->policy_fd);
	fd_close(&t->ca_fd);
}

/* --- to the server ------------------------------------------------------- */

/* Makes a sealed file in memory. Return: its descriptor or negative errno. */
static int sealed(const char *name, const struct buf *text, const void *more, size_t size)
{
	auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 ||
	    (text->len && write(fd, text->data, text->len) != (ssize_t)text->len) ||
	    (size && write(fd, more, size) != (ssize_t)size) ||
	    fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return errno ? -errno : -EIO;
	return take_fd(&fd);
}

static int send_policy(const struct door_policy *p, const int *fds, unsigned count)
{
	ssize_t n = fdpass_send(SPAWN_FD_FIRST, p, sizeof(*p), fds, count, 0);

	return n == (ssize_t)sizeof(*p) ? 0 : -EPIPE;
}

/* The sentence goes into a log: replace what is no printable ASCII. */
static void plain_text(char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			*text = '?';
}

int files_seal(struct door_texts *t, size_t user_count, struct err *err)
{
	t->policy_fd = sealed("policy", &t->policy, t->ids, user_count * sizeof(*t->ids));
	if (t->policy_fd >= 0 && t->ca.len)
		t->ca_fd = sealed("ca", &t->ca, NULL, 0);
	if (t->policy_fd < 0 || (t->ca.len && t->ca_fd < 0))
		return err_sys(err, -ENOMEM, "the memory of the policy");
	return 0;
}

int files_send(const struct door_texts *t, uint32_t walls, const struct err *err)
{
	struct door_policy p = { .version = DOOR_VERSION, .op = DOOR_POLICY };

	if (err->code < 0) {
		p.code = err->code;
		snprintf(p.text, sizeof(p.text), "%s", err->text);
		plain_text(p.text);
		return send_policy(&p, NULL, 0);
	}
	p.walls = walls;
	p.policy_size = (uint32_t)t->policy.len;
	p.has_ca = t->ca_fd >= 0;
	return send_policy(&p, (int[]){ t->policy_fd, t->ca_fd }, 1 + p.has_ca);
}
