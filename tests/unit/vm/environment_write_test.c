/* SPDX-License-Identifier: Apache-2.0 */
/* Sets that are sealed, removed, exported and imported; hostile archives. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "layout/base/cleanup.h"
#include "vm/environment/archive.h"
#include "vm/environment/write.h"
#include "tests/unit/tap.h"

#define ABI "debian-13-amd64 python-3.13 node-20"

static char top[] = "/tmp/environment_write_test.XXXXXX";
static struct environment_places places = { .dirs = { top } };

static int sh(const char *command)
{
	char text[400];

	snprintf(text, sizeof(text), "cd %s && %s", top, command);
	return system(text);
}

static int open_in_top(const char *name)
{
	auto_close int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return openat(dir, name, O_RDONLY | O_CLOEXEC);
}

static void put(int dir, const char *name, const char *text, size_t len)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC,
				   0600);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		ok(false, "%s can be written", name);
}

static void fill(int dir, const char *layer)
{
	static const char warm[] = "{\"env\": {\"A\": \"b\"}}",
			  recipe[] = "{\"arguments\": [\"--npm\", \"x@1\"]}",
			  lock[] = "{\"packages\": []}";

	put(dir, "layer.erofs", layer, strlen(layer));
	put(dir, "lock.json", lock, strlen(lock));
	put(dir, "warm.json", warm, strlen(warm));
	put(dir, "recipe.json", recipe, strlen(recipe));
}

/* Return: what sealing says. */
static int seal(const char *name, const char *layer, const char *parent,
		char id[SHA_HEX])
{
	static const char *const needs[] = { "libc6", "python3", NULL };
	struct environment_facts facts = { .abi = ABI, .parent = parent,
					   .heap = 7, .needs = needs };
	struct environment_new n;
	struct err err = { 0 };
	int r = environment_begin(top, &n, &err);

	if (r == 0) {
		fill(n.dir, layer);
		r = environment_seal(&places, &n, &facts, name, id, &err);
	}
	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

static bool is_whole(const char *name)
{
	struct environment *e = NULL;
	struct err err;
	bool whole = environment_open(&places, name, &e, &err) == 0 && e &&
		     environment_verify(e, NULL, &err) == 0;

	if (!whole)
		printf("# %s\n", err.text);
	environment_unref(e);
	return whole;
}

static void test_seal(void)
{
	struct environment_facts facts = { .abi = ABI };
	struct environment_new n, dead;
	char id[SHA_HEX], same[SHA_HEX], child[SHA_HEX];
	struct err err;

	is_int(seal("data", "layer", NULL, id), 0, "a set is sealed");
	ok(is_whole("data"), "and whole");
	is_int(seal("other", "layer", NULL, same), 0, "the same once more");
	is_str(same, id, "has the same id");
	is_int(sh("test $(ls -A sets | wc -l) = 1"), 0, "and is one set");
	is_int(sh("printf LAYER >l && chmod u+w sets/*/layer.erofs && "
		  "cp l sets/*/layer.erofs"), 0, "it is damaged");
	ok(!is_whole("data"), "which is found");
	is_int(seal("other", "layer", NULL, same), 0, "the next build of it");
	ok(is_whole("data"), "mends it for all its names");
	is_int(seal("stats", "child", id, child), 0, "one with a parent");
	ok(is_whole("stats"), "is whole");
	is_int(seal("x", "child", child, same), 0, "a grandchild");
	memset(same, 'a', SHA_HEX - 1);
	is_int(seal("y", "child", same, child), -ENOENT, "not without a parent");
	is_int(seal("python", "l", NULL, same), -EINVAL, "nor with such a name");
	is_int(environment_begin(top, &n, &err), 0, "one without files");
	is_int(environment_seal(&places, &n, &facts, "y", same, &err), -ENOENT,
	       "is not sealed: %s", err.text);
	is_int(environment_begin(top, &n, &err), 0, "one whose warm.json is "
	       "none");
	fill(n.dir, "l");
	put(n.dir, "warm.json", "[", 1);
	is_int(environment_seal(&places, &n, &facts, "y", same, &err), -EINVAL,
	       "is not sealed: %s", err.text);
	is_int(sh("! ls -A sets | grep -q new"), 0, "nothing of them is left");
	is_int(environment_begin(top, &dead, &err), 0, "one is begun");
	is_int(environment_begin(top, &n, &err), 0, "another too");
	is_int(sh("test $(ls -A sets | grep -c new) = 2"), 0,
	       "and leaves the first, whose maker lives");
	environment_abandon(&n);
	close(dead.dir); /* as its death does */
	close(dead.top);
	is_int(sh("ln -s ../sets/$(printf %064d 0) "
		  "names/.new-0123456789abcdef"), 0, "a link that got no name");
	is_int(environment_begin(top, &n, &err), 0, "the next one");
	is_int(sh("test $(ls -A sets | grep -c new) = 1 && "
		  "! ls -A names | grep new"), 0, "removes what the dead left");
	environment_abandon(&n);
}

static void test_remove(void)
{
	struct environment_cleaned c;
	struct environment *open = NULL;
	struct err err;
	int lock;

	is_int(environment_open(&places, "x", &open, &err), 0, "a set is open");
	is_int(environment_remove(&places, "stats", &err), -EBUSY,
	       "a parent is not removed");
	is_str(err.text, "\"stats\" is the parent of \"x\"; remove that first",
	       "its sentence");
	is_int(sh("ln -s $(readlink names/stats) names/e"), 0,
	       "a child has a name before that of its parent's other name");
	is_int(environment_remove(&places, "data", &err), 0,
	       "a name of a set that has another is");
	is_int(environment_remove(&places, "e", &err), 0, "and so is the child's");
	is_int(environment_remove(&places, "other", &err), -EBUSY,
	       "the last one is not, while it is a grandparent: %s", err.text);
	is_int(sh("mv names/stats name && cd sets/$(basename $(readlink names/x)) && "
		  "mv manifest ../../manifest && echo spoiled >manifest"), 0,
	       "a child's manifest is spoiled, and its parent has no name");
	is_int(environment_clean(&places, top, &c, &err), 0, "clean");
	is_int(c.sets, 0, "removes no set that the child may need");
	is_int(sh("mv name names/stats && mv manifest "
		  "sets/$(basename $(readlink names/x))/manifest"), 0, "it is mended");
	is_int(environment_remove(&places, "x", &err), 0, "the child is");
	is_int(environment_verify(open, NULL, &err), 0,
	       "a job that has it open reads on");
	environment_unref(open);
	is_int(environment_remove(&places, "stats", &err), 0, "then its parent");
	is_int(environment_remove(&places, "stats", &err), -ENOENT, "once: %s",
	       err.text);
	is_int(sh("test $(ls -A sets | wc -l) = 1"), 0, "one set is left");
	is_int(sh("rm names/other && mkdir -p sources/apt/lists && touch "
		  "sources/apt/lists/x && echo 'fsd env build keeps its "
		  "downloads here, and fsd env clean removes them.' "
		  ">sources/lock && printf 12345 >sources/$(printf %064d 0)"), 0,
	       "it loses its name, and there is a download");
	lock = open_in_top("sources/lock");
	ok(flock(lock, LOCK_EX) == 0, "while a build runs");
	is_int(environment_clean(&places, top, &c, &err), -EBUSY,
	       "nothing is cleaned: %s", err.text);
	close(lock);
	is_int(environment_clean(&places, top, &c, &err), 0, "clean");
	ok(c.sets == 1 && c.sources == 1 && c.bytes > 5, "removes both");
	is_int(sh("test \"$(find sets sources names -mindepth 1)\" = sources/lock"), 0,
	       "all of it");
	is_int(environment_clean(&places, "/missing", &c, &err), 0,
	       "a place that is not there is clean");
}

/* --- archives --------------------------------------------------------------- */

static int export_to(const char *name)
{
	int fd = memfd_create("archive", MFD_CLOEXEC);
	struct environment *e = NULL;
	struct err err = { 0 };

	if (environment_open(&places, name, &e, &err) < 0 ||
	    environment_export(e, fd, NULL, &err) < 0)
		ok(false, "an export: %s", err.text);
	environment_unref(e);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int import_fd(int fd, const char *name, char id[SHA_HEX])
{
	struct err err = { 0 };
	int r = environment_import(&places, top, fd, name, NULL, id, &err);

	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

/* An archive of these bytes. */
static int import_bytes(const void *tar, size_t len)
{
	auto_close int fd = memfd_create("archive", MFD_CLOEXEC);
	size_t room = ZSTD_compressBound(len), n;
	auto_free char *out = malloc(room);
	char id[SHA_HEX];
	int r = -ENOMEM;

	n = ZSTD_compress(out, room, tar, len, 1);
	if (write(fd, out, n) == (ssize_t)n && lseek(fd, 0, SEEK_SET) == 0)
		r = import_fd(fd, "hostile", id);
	return r;
}

/* The bytes of the tar in an archive. */
static size_t bytes_of(int fd, uint8_t *ret, size_t size)
{
	static uint8_t packed[65536];
	ssize_t n = pread(fd, packed, sizeof(packed), 0);
	ZSTD_DCtx *z = ZSTD_createDCtx();
	ZSTD_inBuffer in = { packed, (size_t)n, 0 };
	ZSTD_outBuffer out = { ret, size, 0 };

	ZSTD_decompressStream(z, &out, &in);
	ZSTD_freeDCtx(z);
	return out.pos;
}

/* Where the header of a member is. */
static size_t member_at(const uint8_t *tar, size_t len, const char *name)
{
	for (size_t at = 0; at < len; at += TAR_BLOCK)
		if (!strcmp((const char *)tar + at, name))
			return at;
	return 0;
}

static void check_again(uint8_t *header)
{
	unsigned sum = 0;

	memset(header + 148, ' ', 8);
	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += header[i];
	snprintf((char *)header + 148, 7, "%06o", sum & 0777777);
}

static void test_hostile(const uint8_t *good, size_t len)
{
	uint8_t tar[65536];
	size_t at, layer = member_at(good, len, "layer.erofs");

	is_int(import_bytes(good, len), 0, "the archive as it is");
	for (size_t cut = TAR_BLOCK; cut < len; cut += TAR_BLOCK)
		is_int(import_bytes(good, len - cut), -EBADMSG,
		       "without its last %zu bytes", cut);
	for (unsigned i = 0; i < ARCHIVE_MEMBERS; i++) {
		memcpy(tar, good, len);
		at = member_at(good, len, archive_members[i]);
		snprintf((char *)tar + at, 20, "../x");
		check_again(tar + at);
		is_int(import_bytes(tar, len), -EBADMSG, "%s named ../x",
		       archive_members[i]);
		memcpy(tar, good, len);
		tar[at + 156] = '2';
		check_again(tar + at);
		is_int(import_bytes(tar, len), -EBADMSG, "%s a link",
		       archive_members[i]);
		memcpy(tar, good, len);
		tar[at + TAR_BLOCK] ^= 1;
		is_int(import_bytes(tar, len), -EBADMSG, "a bit of %s flipped",
		       archive_members[i]);
	}
	memcpy(tar, good, len);
	memcpy(tar + layer + 124, "77777777777", 11);
	check_again(tar + layer);
	is_int(import_bytes(tar, len), -EBADMSG, "a layer of 8 GiB");
	memcpy(tar, good, len);
	memcpy(tar + 124, "77777777777", 11);
	check_again(tar);
	is_int(import_bytes(tar, len), -EBADMSG, "a manifest of 8 GiB");
	memcpy(tar, good, len);
	tar_write("more", 0, tar + layer + 2 * TAR_BLOCK);
	is_int(import_bytes(tar, len), -EBADMSG, "a sixth member");
	memcpy(tar, good, len);
	at = member_at(good, len, "lock.json");
	memcpy(tar + at, good + layer, len - layer);
	is_int(import_bytes(tar, len), -EBADMSG, "another order");
	memcpy(tar, good, len);
	tar[layer + TAR_BLOCK + 300] = 'x';
	is_int(import_bytes(tar, len), -EBADMSG, "something in the padding");
	memset(tar, 0, sizeof(tar));
	memcpy(tar, good, len);
	is_int(import_bytes(tar, len + 8 * TAR_BLOCK), 0,
	       "with as many zeros as tar programs write");
	is_int(import_bytes(tar, sizeof(tar)), -EBADMSG, "with more of them");
	is_int(import_bytes(tar, 0), -EBADMSG, "an empty tar");
	is_int(sh("! ls -A sets | grep new"), 0, "nothing of them is left");
}

/* A gibibyte of zeros, of which no more than a block is read. */
static void test_bomb(void)
{
	auto_close int fd = memfd_create("bomb", MFD_CLOEXEC);
	ZSTD_CCtx *z = ZSTD_createCCtx();
	static char zeros[1 << 20], out[1 << 20];
	char id[SHA_HEX];

	for (unsigned i = 0; i <= 1024; i++) {
		ZSTD_inBuffer in = { zeros, i < 1024 ? sizeof(zeros) : 0, 0 };
		ZSTD_outBuffer to = { out, sizeof(out), 0 };

		ZSTD_compressStream2(z, &to, &in, i < 1024 ? ZSTD_e_continue :
							     ZSTD_e_end);
		if (write(fd, out, to.pos) != (ssize_t)to.pos)
			ok(false, "a bomb");
	}
	ZSTD_freeCCtx(z);
	lseek(fd, 0, SEEK_SET);
	is_int(import_fd(fd, "hostile", id), -EBADMSG, "a bomb");
	ok(lseek(fd, 0, SEEK_CUR) <= (off_t)(2 * ZSTD_DStreamInSize()),
	   "is read no further than its first block");
}

/* Larger than each buffer on the way: noise, then what packs to nothing. */
static void test_large(void)
{
	static char layer[5 << 20];
	char id[SHA_HEX], again[SHA_HEX];
	uint32_t x = 1;
	struct err err;
	int fd;

	for (size_t i = 0; i < sizeof(layer) - 1; i++) {
		x = x * 1664525 + 1013904223;
		layer[i] = i < sizeof(layer) / 3 ? (char)('!' + (x >> 26)) : 'a';
	}
	is_int(seal("large", layer, NULL, id), 0, "a large set");
	fd = export_to("large");
	is_int(environment_remove(&places, "large", &err), 0, "is removed");
	is_int(import_fd(fd, "large", again), 0, "and comes back");
	is_str(again, id, "under its id");
	ok(is_whole("large"), "whole");
	close(fd);
}

static void test_archive(void)
{
	char id[SHA_HEX], again[SHA_HEX], child[SHA_HEX];
	static uint8_t tar[65536];
	struct err err;
	size_t len;
	int fd, other;

	seal("data", "layer", NULL, id);
	seal("stats", "child", id, child);
	fd = export_to("data");
	len = bytes_of(fd, tar, sizeof(tar));
	other = export_to("stats");
	is_int(environment_remove(&places, "stats", &err), 0, "both");
	is_int(environment_remove(&places, "data", &err), 0, "are removed");
	is_int(import_fd(other, "stats", again), -ENOENT,
	       "the child does not come without its parent");
	is_int(import_fd(fd, "data2", again), 0, "the parent comes back");
	is_str(again, id, "under the same id");
	ok(is_whole("data2"), "whole");
	lseek(other, 0, SEEK_SET);
	is_int(import_fd(other, "stats", again), 0, "then the child");
	ok(is_whole("stats"), "whole");
	test_hostile(tar, len);
	test_bomb();
	ok(ftruncate(fd, lseek(fd, 0, SEEK_END) - 3) == 0 &&
	   lseek(fd, 0, SEEK_SET) == 0, "three bytes less of the file");
	is_int(import_fd(fd, "data3", again), -EBADMSG, "are noticed");
	ok(pwrite(fd, "no archive", 10, 0) == 10 && !lseek(fd, 0, SEEK_SET),
	   "what is no archive");
	is_int(import_fd(fd, "data3", again), -EBADMSG, "is refused");
	close(fd);
	close(other);
}

int main(void)
{
	ok(mkdtemp(top) != NULL, "a directory");
	test_seal();
	is_int(sh("chmod -R u+w . && rm -r names/* sets/*"), 0, "once more");
	seal("data", "layer", NULL, (char[SHA_HEX]){ 0 });
	is_int(sh("cp -a names/data names/other"), 0, "a second name");
	{
		char id[SHA_HEX], child[SHA_HEX];

		seal("data", "layer", NULL, id);
		seal("stats", "child", id, child);
		seal("x", "grandchild", child, id);
	}
	test_remove();
	test_archive();
	test_large();
	is_int(sh("chmod -R u+w . && rm -r names sets sources l; rmdir $PWD"),
	       0, "its end");
	return done_testing();
}
