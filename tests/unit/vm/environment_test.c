/* SPDX-License-Identifier: Apache-2.0 */
/* Names, specs, texts, manifests, ids, and sets in a directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vm/environment/environment.h"
#include "vm/environment/set.h"
#include "tests/unit/tap.h"

#define IMAGE_ABI "debian-13-amd64 python-3.13 node-20"
#define SUM "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void test_names(void)
{
	static const char *const good[] = { "a", "data", "p-1c9e30ab", "x.y_z" };
	static const char *const bad[] = { "", "1a", "Data", "a b", "-a", ".a",
					   "a/b", "base", "python", "bash",
					   "\xc3\xa4" };
	char text[66];
	struct err err;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		is_int(environment_name_check(good[i], &err), 0,
		       "\"%s\" is a name", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		is_int(environment_name_check(bad[i], &err), -EINVAL,
		       "\"%s\" is none: %s", bad[i], err.text);
	memset(text, 'a', sizeof(text));
	text[64] = '\0';
	is_int(environment_name_check(text, &err), 0, "64 letters are a name");
	text[64] = 'a';
	text[65] = '\0';
	is_int(environment_name_check(text, &err), -EINVAL, "65 are none");
}

/* What was built for one user's jobs. */
static void test_owners(void)
{
	static const char *const all[] = {
		"data", "p-1c9e30ab", "p-1c9e30ab.", "p-1c9e30ab.x",
		"p-1c9e30a.1000", "p-1c9e30abc.1000", "p-1c9e30ab.1000.1",
		"p-1c9e30ab.4294967296", "q-1c9e30ab.1000",
	};
	uid_t uid = 0;

	ok(environment_name_owner("p-1c9e30ab.1000", &uid) && uid == 1000,
	   "a name tells its user");
	ok(environment_name_is_for("p-1c9e30ab.1000", 1000) &&
		   !environment_name_is_for("p-1c9e30ab.1000", 1001) &&
		   !environment_name_is_for("p-1c9e30ab.1000", 0),
	   "and is for that one alone");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		ok(!environment_name_owner(all[i], &uid) &&
			   environment_name_is_for(all[i], 1001),
		   "\"%s\" is for all", all[i]);
}

static void test_specs(void)
{
	struct environment_spec s;
	struct err err;

	is_int(environment_spec_parse("data", &s, &err), 0, "a name");
	is_str(s.name, "data", "is kept");
	is_str(s.digits, "", "without an id");
	is_int(environment_spec_parse("data@0123456789ab", &s, &err), 0,
	       "a name with twelve digits");
	is_str(s.digits, "0123456789ab", "which are kept");
	is_int(environment_spec_parse("data@" SUM, &s, &err), 0, "with 64");
	is_int(environment_spec_parse("data@0f3e", &s, &err), -EINVAL,
	       "with four");
	is_str(err.text, "\"environment\" is \"data@0f3e\"; it must have 12 to "
			 "64 digits of the id behind the @", "its sentence");
	is_int(environment_spec_parse("data@" SUM "0", &s, &err), -EINVAL,
	       "with 65");
	is_int(environment_spec_parse("data@0123456789AB", &s, &err), -EINVAL,
	       "with large letters");
	is_int(environment_spec_parse("base@0123456789ab", &s, &err), -EINVAL,
	       "base has no id");
	is_int(environment_spec_parse("../x", &s, &err), 0,
	       "what is no name is no mistake of the form");
	is_str(s.name, "", "but nothing has it");
}

static int warm(const char *text, struct environment_warm *w)
{
	struct err err = { 0 };
	int r = environment_warm_read(text, strlen(text), w, &err);

	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

static void test_warm(void)
{
	static const char *const bad[] = {
		"", "[]", "{\"env\": []}", "{\"env\": {\"A\": 1}}",
		"{\"env\": {\"A=B\": \"x\"}}", "{\"env\": {\"A\": \"x\\ny\"}}",
		"{\"env\": {\"A\": \"x\\u0000y\"}}", "{\"python\": \"numpy\"}",
		"{\"python\": [1]}", "{\"node\": [\"a\\u001b[2J\"]}",
		"{\"program\": 1}", "{\"env_at_start\": [\"*\"]}",
		"{\"env_at_start\": [\"A B\"]}",
	};
	struct environment_warm w;

	is_int(warm("{}", &w), 0, "an empty warm.json");
	ok(!w.env_count && !w.program && !w.modules.len, "has nothing");
	environment_warm_done(&w);
	is_int(warm("{\"python\": [\"numpy\", \"pandas\"], \"node\": "
		    "[\"lodash\"], \"program\": \"1+1\", \"env\": {\"A\": "
		    "\"b\", \"C\": \"\"}, \"env_at_start\": [\"MPL*\", "
		    "\"X\"]}", &w), 0, "a full one");
	is_str(w.modules.data, "numpy, pandas, npm:lodash", "its modules");
	is_int(w.env_count, 2, "its variables");
	ok(w.env.len == 7 && !memcmp(w.env.data, "A=b\0C=", 7), "as K=V");
	is_str(w.at_start.data, "MPL* X", "those that ask for a fresh one");
	ok(w.program, "its program");
	environment_warm_done(&w);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(warm(bad[i], &w), -EINVAL, "%s is refused", bad[i]);
		environment_warm_done(&w);
	}
}

#define PACKAGE(name, more)                                           \
	"{\"source\": \"debian\", \"name\": \"" name "\", \"version\": " \
	"\"1\", \"sha256\": \"" SUM "\", \"file\": " more "}"

static int lock(const char *text)
{
	struct err err = { 0 };
	int r = environment_lock_read(text, strlen(text), NULL, NULL, &err);

	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

static void test_lock(void)
{
	auto_buf struct buf out = { 0 };
	struct err err;
	static const char recipe[] = "{\"arguments\": [\"--debian\", \"a b\", "
				     "\"it's\", \"x==1\"]}";

	is_int(lock("{\"packages\": []}"), 0, "a lock of no package");
	is_int(lock("{\"packages\": [" PACKAGE("a", "\"a.deb\"") ","
		    PACKAGE("b", "\"b.deb\"") "]}"), 2, "one of two");
	is_int(lock("{}"), -EINVAL, "one without a list");
	is_int(lock("{\"packages\": [" PACKAGE("a", "\"../a\"") "]}"), -EINVAL,
	       "a file elsewhere");
	is_int(lock("{\"packages\": [" PACKAGE("a", "1") "]}"), -EINVAL,
	       "a file that is a number");
	is_int(lock("{\"packages\": [" PACKAGE("a\\u0007", "\"a\"") "]}"),
	       -EINVAL, "a name that rings a bell");
	is_int(lock("{\"packages\": [" PACKAGE("a\\u009b", "\"a\"") "]}"),
	       -EINVAL, "a name that begins a terminal's command");
	is_int(lock("{\"packages\": [7]}"), -EINVAL, "a package of 7");
	is_int(environment_recipe_read(recipe, strlen(recipe), &out, &err), 0,
	       "a recipe");
	is_str(out.data, " --debian 'a b' 'it'\\''s' x==1",
	       "is quoted for a shell");
	buf_clear(&out);
	environment_quote("A='\x1b[1m\xc2\x85é", &out);
	is_str(out.data, " $'A=\\x27\\x1b\\x5b1m\\xc2\\x85\\xc3\\xa9'",
	       "a word is quoted so that no terminal obeys it");
	is_int(environment_recipe_read("{}", 2, &out, &err), -EINVAL,
	       "one without arguments");
}

/* --- manifests -------------------------------------------------------------- */

static void example(struct set_manifest *m)
{
	*m = (struct set_manifest){ .packages = 2, .heap = 64 << 20 };
	snprintf(m->abi, sizeof(m->abi), "%s", IMAGE_ABI);
	snprintf(m->parent, sizeof(m->parent), "base");
	buf_add(&m->needs, "libc6\0python3", sizeof("libc6\0python3"));
	for (unsigned i = 0; i < SET_FILES; i++) {
		snprintf(m->part[i].name, sizeof(m->part[i].name), "%s",
			 set_files[i]);
		memcpy(m->part[i].sum, SUM, SHA_HEX);
	}
	set_id(m, m->id);
}

static int parse(const char *text)
{
	struct set_manifest m;
	struct err err = { 0 };
	int r = set_parse(text, strlen(text), &m, &err);

	set_done(&m);
	if (r < 0)
		printf("# %s\n", err.text);
	return r;
}

/* The example with one text replaced by another. */
static int changed(const char *from, const char *to)
{
	auto_buf struct buf good = { 0 }, text = { 0 };
	struct set_manifest m;
	const char *at;

	example(&m);
	set_print(&m, &good);
	set_done(&m);
	at = strstr(good.data, from);
	if (!at)
		return 0;
	buf_add(&text, good.data, (size_t)(at - good.data));
	buf_fmt(&text, "%s%s", to, at + strlen(from));
	return parse(text.data);
}

static void test_manifest(void)
{
	struct set_manifest m, n;
	auto_buf struct buf text = { 0 };
	char id[SHA_HEX];
	struct err err;

	example(&m);
	is_int(set_print(&m, &text), 0, "a manifest is written");
	is_int(set_parse(text.data, text.len, &n, &err), 0, "and read");
	ok(n.packages == 2 && n.heap == 64 << 20 && n.needs.len == 14 &&
	   !strcmp(n.parent, "base"), "it has its fields");
	is_str(n.id, m.id, "and its id");
	set_done(&n);
	snprintf(m.abi, sizeof(m.abi), "%sx", IMAGE_ABI);
	set_id(&m, id);
	ok(strcmp(id, m.id) != 0, "another abi makes another id");
	/* one letter moves from a field to the next one */
	snprintf(m.abi, sizeof(m.abi), IMAGE_ABI "b");
	snprintf(m.parent, sizeof(m.parent), "ase");
	set_id(&m, id);
	ok(strcmp(id, m.id) != 0, "fields do not run into each other");
	set_done(&m);
	is_int(parse(""), -EBADMSG, "an empty one is refused");
	is_int(changed("format 1\n", ""), -EBADMSG, "without its format");
	is_int(changed("format 1", "format 2"), -EBADMSG, "of another format");
	is_int(changed("abi ", "abi x"), -EBADMSG, "whose id does not follow");
	is_int(changed("heap 67108864\n", ""), -EBADMSG, "without a heap");
	is_int(changed("heap 6", "heap 06"), -EBADMSG, "with a number of ours");
	is_int(changed("heap 67108864\n", "heap 67108864\nheap 67108864\n"),
	       -EBADMSG, "with a line twice");
	is_int(changed("parent base", "parent ../x"), -EBADMSG,
	       "with a parent elsewhere");
	is_int(changed("part recipe.json", "part x"), -EBADMSG,
	       "without a part");
	is_int(changed("part layer.erofs 0", "part layer.erofs 8589934592"),
	       -EBADMSG, "with a layer of 8 GiB");
	is_int(changed("needs libc6\n", "needs libc6\nwants x\n"), -EBADMSG,
	       "with a line that is not known");
	is_int(changed("part layer", "part more 0 " SUM "\npart layer"),
	       -EBADMSG, "with a fifth part");
}

/* --- sets in a directory ---------------------------------------------------- */

static void put(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		ok(false, "%s can be written", path);
	if (fd >= 0)
		close(fd);
}

static const char *const texts[SET_FILES] = {
	[SET_LAYER] = "layer",
	[SET_LOCK] = "{\"packages\": []}",
	[SET_WARM] = "{\"env\": {\"A\": \"b\"}}",
	[SET_RECIPE] = "{\"arguments\": []}",
};

static void make(const char *top, const char *name, const char *layer,
		 const char *parent, char ret_id[SHA_HEX])
{
	struct set_manifest m = { .heap = 5 };
	auto_buf struct buf text = { 0 };
	char path[200], to[100];

	snprintf(m.abi, sizeof(m.abi), "%s", IMAGE_ABI);
	snprintf(m.parent, sizeof(m.parent), "%s", parent);
	buf_add(&m.needs, "libc6", 6);
	snprintf(path, sizeof(path), "%s/sets/new", top);
	mkdir(path, 0755);
	for (unsigned i = 0; i < SET_FILES; i++) {
		const char *content = i == SET_LAYER ? layer : texts[i];
		int fd;

		snprintf(path, sizeof(path), "%s/sets/new/%s", top,
			 set_files[i]);
		put(path, content, strlen(content));
		fd = open(path, O_RDONLY | O_CLOEXEC);
		sha_file(fd, NULL, m.part[i].sum);
		m.part[i].size = strlen(content);
		close(fd);
	}
	set_id(&m, m.id);
	set_print(&m, &text);
	set_done(&m);
	snprintf(path, sizeof(path), "%s/sets/new/manifest", top);
	put(path, text.data, text.len);
	memcpy(ret_id, m.id, SHA_HEX);
	snprintf(to, sizeof(to), "%s/sets/%s", top, m.id);
	snprintf(path, sizeof(path), "%s/sets/new", top);
	ok(rename(path, to) == 0, "a set is made");
	snprintf(to, sizeof(to), "../sets/%s", m.id);
	snprintf(path, sizeof(path), "%s/names/%s", top, name);
	ok(symlink(to, path) == 0, "and named %s", name);
}

static int sh(const char *dir, const char *command)
{
	char text[300];

	snprintf(text, sizeof(text), "cd %s && %s", dir, command);
	return system(text);
}

static void test_open(const struct environment_places *places, const char *id,
		      const char *parent)
{
	struct environment *e = NULL;
	auto_buf struct buf text = { 0 };
	char spec[90];
	struct err err;

	is_int(environment_open(places, "base", &e, &err), 0, "base");
	ok(!e, "is no set");
	is_int(environment_open(places, "stats", &e, &err), 0, "a child");
	if (!e)
		return;
	ok(e->layer_count == 2 && !strcmp(e->name, "stats") &&
	   !strcmp(e->id, id) && !strcmp(e->parent, parent) && e->heap == 5,
	   "has its parent's layer behind its own");
	is_str(e->env[0], "A=b", "has its variables");
	ok(!e->env[1], "and no more");
	is_int((long long)environment_size(e), 5 + 6, "the size of both");
	is_int(environment_verify(e, NULL, &err), 0, "is whole");
	is_int(environment_read(e, ENV_LOCK, &text, &err), 0, "its lock");
	is_str(text.data, "{\"packages\": []}", "is read");
	is_int(environment_fits(e, IMAGE_ABI, "bash 5\nlibc6 2.41\n", &err), 0,
	       "it fits the image");
	is_int(environment_fits(e, "debian-13-amd64 python-3.14 node-20",
				"libc6 2\n", &err), -ENOEXEC, "not another");
	is_str(err.text, "\"environment\" is \"stats\"; it was made for "
	       "python-3.13 and this image has python-3.14: run fsd env build "
	       "stats", "its sentence");
	is_int(environment_fits(e, IMAGE_ABI, "libc6-dev 2\n", &err), -ENOEXEC,
	       "nor one without what it needs: %s", err.text);
	environment_unref(environment_ref(e));
	environment_unref(e);
	snprintf(spec, sizeof(spec), "stats@%.12s", id);
	is_int(environment_open(places, spec, &e, &err), 0, "by its id's digits");
	environment_unref(e);
}

static void test_refusals(const struct environment_places *places,
			  const char *top)
{
	struct environment *e = NULL;
	struct err err;
	char want[200], now[SHA_HEX];

	is_int(environment_open(places, "dat", &e, &err), -ENOENT, "a name that "
	       "is not there");
	is_str(err.text, "\"environment\" is \"dat\"; it must be one of base, "
			 "data, stats", "its sentence");
	is_int(environment_open(places, "data@0f3e11aa22bb", &e, &err), -ESTALE,
	       "an id of once");
	environment_open(places, "data", &e, &err);
	memcpy(now, e->id, sizeof(now));
	environment_unref(e);
	snprintf(want, sizeof(want), "\"environment\" is \"data@0f3e11aa22bb\"; "
		 "\"data\" is %.12s now", now);
	environment_open(places, "data@0f3e11aa22bb", &e, &err);
	is_str(err.text, want, "its sentence");
	is_int(sh(top, "printf x >>names/data/layer.erofs"), 0,
	       "a byte is added to a parent");
	is_int(environment_open(places, "stats", &e, &err), -EBADMSG,
	       "the child is damaged: %s", err.text);
	is_int(sh(top, "printf Layer >names/data/layer.erofs"), 0,
	       "a byte is flipped");
	is_int(environment_open(places, "stats", &e, &err), 0, "it opens");
	is_int(environment_verify(e, NULL, &err), -EBADMSG, "and is found: %s",
	       err.text);
	environment_unref(e);
	is_int(sh(top, "rm names/data/layer.erofs && mkfifo names/data/"
		  "layer.erofs"), 0, "a FIFO is in it");
	is_int(environment_open(places, "data", &e, &err), -EBADMSG,
	       "it is refused: %s", err.text);
	is_int(sh(top, "rm names/data/layer.erofs && ln -s /etc/passwd names/"
		  "data/layer.erofs"), 0, "a link is in it");
	is_int(environment_open(places, "data", &e, &err), -EBADMSG,
	       "it is refused: %s", err.text);
	is_int(sh(top, "printf '{\"env\": {\"A\": \"c\"}}' >names/stats/"
		  "warm.json"), 0, "another warm.json of the same size");
	is_int(environment_open(places, "stats", &e, &err), -EBADMSG,
	       "is refused: %s", err.text);
	is_int(sh(top, "ln -sfn /etc names/data"), 0,
	       "a name leads elsewhere");
	is_int(environment_open(places, "data", &e, &err), -EBADMSG,
	       "it is damaged: %s", err.text);
}

static void test_directory(void)
{
	char top[] = "/tmp/environment_test.XXXXXX", id[SHA_HEX], own[SHA_HEX];
	struct environment_places places = { .dirs = { "/missing", top } };
	struct environment_names names;
	struct err err;

	ok(mkdtemp(top) != NULL, "a directory");
	is_int(environment_names(&places, &names, &err), 0, "has no names");
	is_int((long long)names.count, 0, "at first");
	is_int(sh(top, "mkdir names sets"), 0, "two folders");
	make(top, "data", "layer", "base", id);
	make(top, "stats", "layer2", id, own);
	is_int(sh(top, "ln -s x names/.new-1 && ln -s x names/python"), 0,
	       "names that are none");
	is_int(environment_names(&places, &names, &err), 0, "the names");
	ok(names.count == 2 && !strcmp(names.name[0].name, "data") &&
	   !strcmp(names.name[0].id, id) && names.name[1].place == 1,
	   "are sorted");
	environment_names_done(&names);
	test_open(&places, own, id);
	test_refusals(&places, top);
	is_int(sh("/", "rm -r /tmp/environment_test.*"), 0, "its end");
}

int main(void)
{
	test_names();
	test_owners();
	test_specs();
	test_warm();
	test_lock();
	test_manifest();
	test_directory();
	return done_testing();
}
