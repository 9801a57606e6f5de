/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests, an image directory's verification, sums of sparse files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vm/qemu/image.h"
#include "vm/qemu/template_store.h"
#include "vm/qemu/verified.h"
#include "vm/vm.h"
#include "tests/unit/tap.h"

#define SUM "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define PARTS                                                     \
	"part vmlinux 0 " SUM "\npart initramfs.cpio 0 " SUM "\n" \
	"part rootfs.erofs 0 " SUM "\n"
#define GOOD "format 1\nimage " SUM "\nkernel 6.1.0\nother words here\n" PARTS

static int parse(const char *text)
{
	struct image im;
	struct err err;
	int r = image_parse(text, strlen(text), &im, &err);

	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

static void test_manifest(void)
{
	is_int(parse(GOOD), 0, "a good manifest, with a line for people");
	ok(parse("") < 0, "an empty one");
	ok(parse("image " SUM "\nkernel k\n" PARTS) < 0, "no format");
	ok(parse("format 2\nimage " SUM "\nkernel k\n" PARTS) < 0,
	   "another format");
	ok(parse("format 1\nkernel k\n" PARTS) < 0, "no image line");
	ok(parse("format 1\nimage 12\nkernel k\n" PARTS) < 0, "a short sum");
	ok(parse("format 1\nimage " SUM "\nkernel k\n") < 0, "no parts");
	ok(parse(GOOD "part vmlinux 0 " SUM "\n") < 0, "a part twice");
	ok(parse(GOOD "part ../x 0 " SUM "\n") < 0, "a part elsewhere");
	ok(parse(GOOD "part x -1 " SUM "\n") < 0, "a negative size");
	ok(parse(GOOD "part x 0\n") < 0, "a part without a sum");
}

static void put(const char *dir, const char *name, const char *text)
{
	char path[300];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f))
		ok(false, "%s can be written", path);
}

static void test_directory(void)
{
	char dir[] = "/tmp/image_test.XXXXXX";
	static const char *const names[] = { "vmlinux", "initramfs.cpio",
					     "rootfs.erofs", "manifest" };
	struct buf b = { 0 };
	struct err err;

	ok(mkdtemp(dir) != NULL, "a directory");
	ok(vm_image_verify(dir, &b, &err) < 0, "no manifest: %s", err.text);
	for (unsigned i = 0; i < 3; i++)
		put(dir, names[i], "");
	put(dir, "manifest", GOOD);
	is_int(vm_image_verify(dir, &b, &err), 0, "it verifies");
	ok(b.data && strstr(b.data, "kernel 6.1.0\n"), "and tells the kernel");
	buf_done(&b);
	put(dir, "vmlinux", "x");
	is_int(vm_image_verify(dir, &b, &err), -EBADMSG, "another size: %s",
	       err.text);
	put(dir, "vmlinux", "");
	put(dir, "manifest",
	    "format 1\nimage " SUM "\nkernel k\npart vmlinux 0 "
	    "00b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n"
	    "part initramfs.cpio 0 " SUM "\npart rootfs.erofs 0 " SUM "\n");
	is_int(vm_image_verify(dir, &b, &err), -EBADMSG, "another sum: %s",
	       err.text);
	for (unsigned i = 0; i < 4; i++) {
		char path[300];

		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static void test_sparse(void)
{
	char a[SHA_HEX], b[SHA_HEX], c[SHA_HEX];
	int one = memfd_create("one", MFD_CLOEXEC);
	int two = memfd_create("two", MFD_CLOEXEC);
	char zero[1 << 16] = { 0 };

	ok(ftruncate(one, 1 << 30) == 0 && ftruncate(two, 1 << 30) == 0 &&
		   pwrite(one, "x", 1, 700 << 20) == 1 &&
		   pwrite(two, "x", 1, 700 << 20) == 1 &&
		   pwrite(two, zero, sizeof(zero), 5 << 20) == sizeof(zero),
	   "two sparse files of a gibibyte");
	is_int(sha_sparse(one, NULL, a), 0, "one is summed");
	is_int(sha_sparse(two, NULL, b), 0, "and the other");
	is_str(a, b, "zeros that are written are as good as a hole");
	if (pwrite(two, "y", 1, (700 << 20) + 70000) != 1)
		ok(false, "a write");
	is_int(sha_sparse(two, NULL, c), 0, "after a change");
	ok(strcmp(b, c) != 0, "one byte makes another sum");
	if (pwrite(one, "", 1, 700 << 20) != 1 ||
	    pwrite(one, "x", 1, 701 << 20) != 1)
		ok(false, "a write");
	is_int(sha_sparse(one, NULL, c), 0, "after a move");
	ok(strcmp(a, c) != 0, "the same byte elsewhere makes another sum");
	close(one);
	close(two);
}

static void test_fields(void)
{
	char a[SHA_HEX], b[SHA_HEX];
	struct sha *s = sha_new();

	sha_field(s, "ab");
	sha_field(s, "c");
	sha_hex(s, a);
	s = sha_new();
	sha_field(s, "a");
	sha_field(s, "bc");
	sha_hex(s, b);
	ok(strcmp(a, b) != 0, "[ab, c] is not [a, bc]");
	s = sha_new();
	sha_hex(s, a);
	is_str(a, SUM, "the sum of nothing");
}

static void test_template_meta(void)
{
	static const char *const wrong[][3] = {
		{ "b\n", "b", "without its end" },
		{ "b\n", "b\nx", "with something behind it" },
		{ "format 4", "format 3", "of another format" },
		{ "accel tcg", "accel auto", "of no accelerator" },
		{ "accel tcg", "accel none", "of an unknown one" },
		{ "runners 31", "runners -1", "with a negative number" },
		{ "runners 31", "runners 4294967327", "with one too large" },
		{ "runners 31", "runners  31", "with a blank too many" },
		{ "walls 127\n", "", "without the walls" },
		{ "key a", "key ", "with a short key" },
		{ "ram b", "ram ", "with a short sum" },
		{ "state 0", "state g", "with a sum that is none" },
		{ "tsc_khz 7\n", "", "without a line" },
		{ "boot_ms 900", "boot_ms x", "with a word for a number" },
		{ "made 17", "made -17", "made before there was time" },
	};
	char good[512], bad[500], sums[3][SHA_HEX] = { { 0 } };
	struct template_store_meta m;

	for (int i = 0; i < 3; i++)
		memset(sums[i], "a0b"[i], SHA_HEX - 1);
	snprintf(good, sizeof(good), "format 4\nkey %s\naccel tcg\n"
		 "runners 31\nwalls 127\ntsc_khz 7\nboot_ms 900\nmade 1764000000\n"
		 "state %s\nram %s\n",
		 sums[0], sums[1], sums[2]);
	is_int(template_store_meta_parse(good, &m), 0, "a template's record");
	ok(m.runners == 31 && m.walls == 127 && m.tsc_khz == 7 && m.boot_ms == 900 &&
	   m.made_s == 1764000000 &&
	   !strcmp(m.ram_sum, sums[2]), "has its fields");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *at = strstr(good, wrong[i][0]);

		snprintf(bad, sizeof(bad), "%.*s%s%s", (int)(at - good), good,
			 wrong[i][1], at + strlen(wrong[i][0]));
		is_int(template_store_meta_parse(bad, &m), -EBADMSG, "a record %s",
		       wrong[i][2]);
	}
}

/* Return: what there is, with the verdict's file so many seconds old. */
static int verdict_of_age(const char *cache, time_t age, enum vm_accel *ret)
{
	const struct timespec now[2] = {
		{ .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) - age },
	};
	char path[200];

	snprintf(path, sizeof(path), "%s/templates/accel-%.16s", cache, SUM);
	if (utimensat(AT_FDCWD, path, now, 0) < 0)
		return -errno;
	return template_store_accel_get(cache, SUM, ret);
}

static void test_verdict(void)
{
	char dir[] = "/tmp/image_test.XXXXXX", command[100];
	enum vm_accel accel = VM_ACCEL_AUTO;

	ok(mkdtemp(dir) != NULL, "a cache");
	is_int(template_store_accel_get(dir, SUM, &accel), -ENOENT, "no verdict yet");
	is_int(template_store_accel_put(dir, SUM, VM_ACCEL_TCG), 0, "KVM failed");
	is_int(verdict_of_age(dir, 3600, &accel), 0, "which holds for hours");
	is_int(accel, VM_ACCEL_TCG, "and says so");
	ok(vm_kvm_fails(dir), "as does the word for people");
	is_int(verdict_of_age(dir, 25 * 3600, &accel), -ENOENT,
	       "not for more than a day");
	ok(!vm_kvm_fails(dir), "nor the word for people");
	is_int(verdict_of_age(dir, -3600, &accel), -ENOENT,
	       "nor if it comes from the future");
	is_int(template_store_accel_put(dir, SUM, VM_ACCEL_KVM), 0, "KVM worked");
	is_int(verdict_of_age(dir, 90 * 24 * 3600, &accel), 0,
	       "which is believed for as long as nothing changes");
	is_int(accel, VM_ACCEL_KVM, "and says so");
	ok(!vm_kvm_fails(dir), "and the word for people says no other");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ok(system(command) == 0, "its end");
}

/* A template of one byte each, made in the cache, named by SUM. */
static int make_template_of(const char *cache, const struct template_store_of *of)
{
	struct template_store_meta meta = { .accel = VM_ACCEL_TCG, .key = SUM };
	struct template_store_new n;
	struct err err;

	if (template_store_begin(cache, of, 4096, &n, &err) < 0 || write(n.ram, "r", 1) != 1 ||
	    write(n.state, "s", 1) != 1)
		return -1;
	return template_store_commit(&n, &meta, false, NULL, &err);
}

static int make_template(const char *cache)
{
	return make_template_of(cache, &(struct template_store_of){
		.image_dir = "/missing", .image_id = SUM,
		.environment_id = "", .environment_fd = -1,
	});
}

static int find(const struct vm_options *o, bool own_only, bool *ret_shared)
{
	struct stored_template t = { .dir = -1 };
	struct err err = { 0 };
	int r = template_store_find(o, own_only, SUM, NULL, &t, &err);

	*ret_shared = t.shared;
	if (r == 0)
		close(t.dir);
	return r;
}

static int sh(const char *dir, const char *command)
{
	char text[300];

	snprintf(text, sizeof(text), "cd %s && %s", dir, command);
	return system(text);
}

static void test_shared(void)
{
	char dir[] = "/tmp/image_test.XXXXXX", own[64], shared[64];
	struct vm_options o = { .cache_dir = own };
	bool is_shared;

	ok(mkdtemp(dir) != NULL, "a place");
	snprintf(own, sizeof(own), "%s/own", dir);
	snprintf(shared, sizeof(shared), "%s/made/templates", dir);
	o.shared[0] = "/missing";
	o.shared[1] = shared;
	is_int(sh(dir, "mkdir made"), 0, "and one for all users");
	is_int(find(&o, false, &is_shared), -ENOENT, "no template anywhere");
	snprintf(own, sizeof(own), "%s/made", dir);
	is_int(make_template(own), 0, "one is made for all");
	snprintf(own, sizeof(own), "%s/own", dir);
	is_int(find(&o, true, &is_shared), -ENOENT, "who wants an own one has none");
	is_int(find(&o, false, &is_shared), 0, "others find it");
	ok(is_shared, "and know whose it is");
	is_int(sh(dir, "chmod g+w made/templates/*/ram"), 0, "a group may write it");
	is_int(find(&o, false, &is_shared), -ENOENT, "then it is passed over");
	is_int(sh(dir, "chmod g-w made/templates/*/ram && chmod o+w made/templates/*"),
	       0, "all may write its directory");
	is_int(find(&o, false, &is_shared), -ENOENT, "the same");
	is_int(sh(dir, "chmod o-w made/templates/* && cd made/templates/*[0-9a-f] && printf x >state"),
	       0, "it is damaged");
	is_int(find(&o, false, &is_shared), -ENOENT, "the same");
	is_int(sh(dir, "cd made/templates/*[0-9a-f] && rm state && ln -s /etc/passwd state"),
	       0, "a link is in it");
	is_int(find(&o, false, &is_shared), -ENOENT, "the same");
	is_int(make_template(own), 0, "one of our own");
	is_int(find(&o, false, &is_shared), 0, "is found");
	ok(!is_shared, "and is ours");
	is_int(sh(dir, "rm -r own made && rmdir $PWD"), 0, "its end");
}

#define OTHER "00b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* Makes a template of that, then cleans for a mount of the image in DIR/image with that
 * id. Return: is it still there? */
static bool stays(const char *dir, const struct template_store_of *of, const char *id,
		  const char *between)
{
	struct vm_options o = { .cache_dir = (char *)(uintptr_t)dir };
	char image[80];
	bool is_shared;

	snprintf(image, sizeof(image), "%s/image", dir);
	if (make_template_of(dir, of) < 0 || sh(dir, between))
		abort();
	template_store_clean(dir, image, id);
	return find(&o, true, &is_shared) == 0;
}

static void test_clean(void)
{
	char dir[] = "/tmp/image_test.XXXXXX", image[64], other[64], set[64], name[80];
	struct template_store_of of = { .image_dir = image, .image_id = SUM,
			       .environment_id = "", .environment_fd = -1 };
	int fd;

	ok(mkdtemp(dir) != NULL, "a place");
	snprintf(image, sizeof(image), "%s/./image", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	snprintf(set, sizeof(set), "%s/layer", dir);
	snprintf(name, sizeof(name), "%s/templates/%.16s", dir, SUM);
	is_int(sh(dir, "mkdir image other && touch layer image/manifest other/manifest"),
	       0, "two images and an environment");
	ok(stays(dir, &of, SUM, "true"), "a template of this mount's image stays");
	ok(stays(dir, &of, SUM, "rm templates/*/of"), "as does one that does not say");
	ok(stays(dir, &of, SUM, "touch -d '-13 days' templates/*/"), "and an old one");
	ok(!stays(dir, &of, SUM, "touch -d '-15 days' templates/*/"),
	   "one that no mount has used for two weeks goes");
	ok(!stays(dir, &of, OTHER, "true"), "one of the image that was there before goes");
	of.image_dir = other;
	ok(stays(dir, &of, OTHER, "true"), "one of another directory's image stays");
	ok(!stays(dir, &of, OTHER, "rm other/manifest"), "until that is gone");
	of.image_dir = image;
	of.environment_id = OTHER;
	of.environment_fd = open(set, O_RDONLY);
	ok(stays(dir, &of, SUM, "true"), "one of an environment stays");
	ok(!stays(dir, &of, SUM, "rm layer"), "until that is gone");
	ok(stays(dir, &of, SUM, "true"), "one of a set that is gone already says no path");
	fd = open(name, O_RDONLY | O_DIRECTORY);
	is_int(flock(fd, LOCK_SH), 0, "another mount uses it");
	template_store_clean(dir, image, OTHER);
	ok(access(name, F_OK) == 0, "then it stays");
	close(fd);
	template_store_clean(dir, image, OTHER);
	ok(access(name, F_OK) < 0, "and goes with that");
	close(of.environment_fd);
	is_int(sh(dir, "rm -r image other templates && rmdir $PWD"), 0, "its end");
}

/* Writes a record with the state of the file and a sum, which need not be its own. boot:
 * NULL: this start of the host. */
static void forge(const char *dir, const char *boot, int fd, const char *sum)
{
	char command[600], line[300];
	struct stat st;

	ok(fstat(fd, &st) == 0, "a file's state");
	snprintf(line, sizeof(line), "%ju %ju %jd %jd.%ld %jd.%ld %s",
		 (uintmax_t)st.st_dev, (uintmax_t)st.st_ino, (intmax_t)st.st_size,
		 (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
		 (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec, sum);
	snprintf(command, sizeof(command), "mkdir -p templates && { %s; "
		 "echo 1 2 three; echo; echo '%s'; } >templates/verified",
		 boot ? boot : "cat /proc/sys/kernel/random/boot_id", line);
	is_int(sh(dir, command), 0, "a record");
}

static void test_known(void)
{
	char dir[] = "/tmp/verified-test.XXXXXX";
	static const char other[] = OTHER;
	int fd = memfd_create("known", MFD_CLOEXEC);
	struct timespec now[2] = { 0 };
	struct stat st;

	ok(mkdtemp(dir) != NULL, "a directory of templates");
	forge(dir, NULL, fd, other);
	is_int(verified_compare(dir, fd, other, false, NULL), 0,
	       "a sum that is on record is not computed again");
	is_int(verified_compare(dir, fd, SUM, false, NULL), 0,
	       "unless it is another one");
	is_int(verified_compare(NULL, fd, other, false, NULL), -EBADMSG,
	       "and by nobody who asks without the record");
	ok(fstat(fd, &st) == 0, "its times");
	clock_gettime(CLOCK_REALTIME, &now[0]);
	now[1] = st.st_mtim;
	/* until the clock of ctime has gone on */
	for (int n = 0; n < 1000 && verified_compare(dir, fd, other, false, NULL) == 0;
	     n++) {
		futimens(fd, now);
		usleep(100);
	}
	is_int(verified_compare(dir, fd, other, false, NULL), -EBADMSG,
	       "it changes, and has its mtime again: its line does not count");
	forge(dir, "echo 1234", fd, other);
	is_int(verified_compare(dir, fd, other, false, NULL), -EBADMSG,
	       "nor does one of another start of the host");
	is_int(verified_compare(dir, fd, SUM, false, NULL), 0, "right");
	is_int(sh(dir, "head -n 1 templates/verified | grep -qx 1234"), 0,
	       "which is not recorded of a file that was just written");
	close(fd);
	is_int(sh(dir, "rm -r templates && rmdir $PWD"), 0, "its end");
}

static void test_recorded(void)
{
	char dir[] = "/tmp/verified-test.XXXXXX", sum[SHA_HEX];
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	int other = open("/bin/cat", O_RDONLY | O_CLOEXEC);

	ok(mkdtemp(dir) != NULL, "a directory of templates");
	is_int(sha_file(fd, NULL, sum), 0, "an old file");
	is_int(verified_compare(dir, fd, sum, false, NULL), 0, "is right");
	is_int(sh(dir, "[ $(wc -l <templates/verified) = 2 ]"), 0,
	       "which is on record");
	is_int(sha_file(other, NULL, sum), 0, "another one");
	is_int(verified_compare(dir, other, sum, false, NULL), 0, "is right");
	is_int(sh(dir, "[ $(wc -l <templates/verified) = 3 ] && "
		       "sed -i 's/ [^ ]*$/ " OTHER "/' templates/verified"), 0,
	       "and has a line of its own");
	is_int(verified_compare(dir, other, OTHER, false, NULL), 0,
	       "by which the next mount goes");
	is_int(verified_compare(dir, other, sum, false, NULL), 0, "and a new one");
	is_int(sh(dir, "[ $(wc -l <templates/verified) = 3 ]"), 0,
	       "takes the place of the old one");
	close(fd);
	close(other);
	is_int(sh(dir, "rm -r templates && rmdir $PWD"), 0, "its end");
}

int main(void)
{
	test_known();
	test_recorded();
	test_shared();
	test_clean();
	test_manifest();
	test_directory();
	test_sparse();
	test_fields();
	test_template_meta();
	test_verdict();
	return done_testing();
}
