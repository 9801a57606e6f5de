/* SPDX-License-Identifier: Apache-2.0 */
/* Which environment serves "packages": by locks that the test seals. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout/base/cleanup.h"
#include "layout/config.h"
#include "layout/limits.h"
#include "vm/environment/catalog.h"
#include "vm/environment/write.h"
#include "tests/unit/tap.h"

/* The user whose job asks. */
#define ASKER 1000

#define ABI "debian-13-amd64 python-3.13 node-20"

static char top[] = "/tmp/catalog_test.XXXXXX";
static struct environment_places places = { .dirs = { top } };
static struct environment_catalog *catalog;

static int sh(const char *command)
{
	char text[400];

	snprintf(text, sizeof(text), "cd %s && %s", top, command);
	return system(text);
}

static void put(int dir, const char *name, const char *text)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC,
				   0600);
	size_t len = strlen(text);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		ok(false, "%s can be written", name);
}

/* packages: "source name version [place]" each, ended by NULL. */
static void put_lock(int dir, const char *const *packages)
{
	auto_buf struct buf text = { 0 };

	buf_str(&text, "{\"packages\": [");
	for (size_t i = 0; packages[i]; i++) {
		char source[16], name[64], version[64], at[128] = "";

		sscanf(packages[i], "%15s %63s %63s %127s", source, name,
		       version, at);
		buf_fmt(&text, "%s{\"source\": \"%s\", \"name\": \"%s\", "
			"\"version\": \"%s\", \"file\": \"f\", \"at\": \"%s\", "
			"\"sha256\": \"%064d\"}", i ? ", " : "", source, name,
			version, at, 0);
	}
	buf_str(&text, "]}");
	put(dir, "lock.json", text.data);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* Its layer has as many bytes as layer says. */
static void seal(const char *name, const char *layer, const char *recipe,
		 const char *parent, const char *abi,
		 const char *const *packages, char id[SHA_HEX])
{
	struct environment_facts facts = { .abi = abi, .parent = parent };
	struct environment_new n;
	struct err err = { 0 };

	if (!is_int(environment_begin(top, &n, &err), 0, "a set"))
		return;
	put(n.dir, "layer.erofs", layer);
	put_lock(n.dir, packages);
	put(n.dir, "warm.json", "{}");
	put(n.dir, "recipe.json", recipe);
	is_int(environment_seal(&places, &n, &facts, name, id, &err), 0,
	       "%s is sealed %s", name, err.text);
}

/* want: a name, or the end of the sentence that refuses. */
static void asks(const char *spec, const char *packages, const char *want)
{
	static const struct config_limits limits = { 1000, 1024, 2 };
	char text[4096], ret[ENVIRONMENT_SPEC_MAX] = "";
	struct job_config c;
	struct err err = { 0 };
	int r;

	snprintf(text, sizeof(text), "{\"packages\": [%s]}", packages);
	if (!is_int(config_parse(text, strlen(text), &limits, &c, &err), 0,
		    "%.60s is read", packages))
		return;
	r = environment_catalog_find(catalog, &(struct environment_wanted){
			ASKER, spec, &c.packages }, ret, &err);
	ret[strcspn(ret, "@")] = '\0';
	is_str(r < 0 ? err.text : ret, want, "%.60s on %s", packages, spec);
	config_done(&c);
}

static void make_catalog(void)
{
	static const struct environment_catalog_of of = {
		.places = &places, .abi = ABI,
		.packages = "jq 1.7.1-6\npython3-six 1.17.0-1\n",
	};

	catalog = environment_catalog_new(&of);
	ok(catalog != NULL, "an index");
}

#define RECIPE(words) "{\"arguments\": [" words "]}"
#define PANDAS "\"pandas==2.2.3\""

static void test_which(void)
{
	char data[SHA_HEX], id[SHA_HEX];

	asks("base", PANDAS, "\"packages\" needs pandas==2.2.3, which no "
	     "environment here has; to make one: fsd env build p-559a447c "
	     "--pypi pandas==2.2.3");
	asks("base", "\"deb:jq=1.7.1-6\", \"six==1.17\"", "base");
	seal("data", "12345678", RECIPE(""), NULL, ABI,
	     LIST("debian python3-pandas 2.2.3+dfsg-9", "pypi attrs 24.1.0",
		  "debian python3-attr 25.1.0-1", "npm lodash 4.17.21 "
		  "node_modules/lodash", "npm ms 2.0.0 "
		  "node_modules/debug/node_modules/ms"), data);
	asks("base", PANDAS, "data");
	asks("base", "\"npm:lodash@4.17.21\", \"Pandas==2.2.3.0\", "
	     "\"deb:python3-pandas=2.2.3+dfsg-9\"", "data");
	asks("base", "\"attrs==24.1\"", "data");
	seal("small", "1", RECIPE(""), NULL, ABI,
	     LIST("pypi pandas 2.2.3"), id);
	asks("base", PANDAS, "small");
	asks("data", PANDAS, "data");
	seal("stats", "12", RECIPE(""), data, ABI, LIST("pypi scipy 1.15.0"),
	     id);
	asks("base", PANDAS ", \"scipy==1.15.0\"", "stats");
	asks("data", "\"scipy==1.15.0\"", "stats");
	asks("small", "\"six==1.17.0\"", "small");
	seal("stale", "", RECIPE(""), NULL, "debian-12", LIST("pypi old 1"),
	     id);
}

static void test_refused(void)
{
	asks("base", "\"npm:ms@2.0.0\"", "\"packages\" needs ms@2.0.0, which no "
	     "environment here has; to make one: fsd env build p-9b7185d8 "
	     "--npm ms@2.0.0");
	asks("base", "\"pandas==2.2.2\"", "\"packages\" needs pandas==2.2.2, "
	     "which no environment here has; to make one: fsd env build "
	     "p-88671e22 --pypi pandas==2.2.2");
	asks("base", "\"old==1\"", "\"packages\" needs old==1, which no "
	     "environment here has; to make one: fsd env build p-69501647 "
	     "--pypi old==1");
	asks("none", PANDAS, "\"environment\" is \"none\"; it must be one of "
	     "base, data, small, stale, stats");
}

/* It is found by its name if its versions are written in another way. */
static void test_made(void)
{
	char id[SHA_HEX];

	asks("base", "\"x==1.0-rc1\"", "\"packages\" needs x==1.0-rc1, which no "
	     "environment here has; to make one: fsd env build p-508e631d "
	     "--pypi x==1.0-rc1");
	seal("p-508e631d", "", RECIPE("\"--pypi\", \"x==1.0-rc11\""), NULL, ABI,
	     LIST("pypi x 1.0rc1"), id);
	asks("base", "\"x==1.0-rc1\"", "\"packages\" needs x==1.0-rc1, which no "
	     "environment here has; to make one: fsd env build p-508e631d "
	     "--pypi x==1.0-rc1");
	seal("p-508e631d", "1", RECIPE("\"--pypi\", \"x==1.0-rc1\", "
	     "\"--warm\", \"x\""), NULL, ABI, LIST("pypi x 1.0rc1"), id);
	asks("base", "\"x==1.0-rc1\"", "p-508e631d");
	is_int(sh("rm names/p-508e631d"), 0, "its name goes");
	seal("p-508e631d.1001", "1", RECIPE("\"--pypi\", \"x==1.0-rc1\""), NULL,
	     ABI, LIST("pypi x 1.0rc1"), id);
	asks("base", "\"x==1.0-rc1\"", "\"packages\" needs x==1.0-rc1, which no "
	     "environment here has; to make one: fsd env build p-508e631d "
	     "--pypi x==1.0-rc1");
	asks("p-508e631d.1001", "\"six==1.17.0\"", "\"environment\" is "
	     "\"p-508e631d.1001\"; it must be one of base, data, small, stale, stats");
	is_int(sh("mv names/p-508e631d.1001 names/p-508e631d.1000"), 0,
	       "the other user's becomes this one's");
	asks("base", "\"x==1.0-rc1\"", "p-508e631d.1000");
	is_int(sh("rm names/p-508e631d.1000"), 0, "it goes");
	asks("base", "\"x==1.0rc1\"", "\"packages\" needs x==1.0rc1, which no "
	     "environment here has; to make one: fsd env build p-ff80eb2e "
	     "--pypi x==1.0rc1");
}

/* What a server may have built. */
static void test_lacks(void)
{
	auto_buf struct buf words = { 0 };
	struct package item;
	struct packages wanted = { .count = 1, .item = &item };
	const struct environment_wanted base = { ASKER, "base", &wanted };
	const struct environment_wanted absent = { ASKER, "absent", &wanted };
	struct err err = { 0 };

	package_parse("x==1.0rc1", &item);
	is_int(environment_catalog_lacks(catalog, &base, &words, &err),
	       0, "no environment has it");
	is_str(words.data, "p-ff80eb2e.1000 --pypi x==1.0rc1",
	       "so it can be built, for that user");
	is_int(environment_catalog_lacks(catalog, &absent, &words, &err),
	       -ENOENT, "not on top of what is not there");
	package_parse("pandas==2.2.3", &item);
	is_int(environment_catalog_lacks(catalog, &base, &words, &err),
	       -EEXIST, "nor if one has it");
}

/* The sentence has to fit; the name says the request anyhow. */
static void test_long(void)
{
	struct environment_catalog *c = catalog;
	char ret[ENVIRONMENT_SPEC_MAX];
	struct packages wanted = { .item = calloc(64, sizeof(struct package)) };
	struct err err = { 0 };

	for (; wanted.count < 64; wanted.count++) {
		char spec[64];

		snprintf(spec, sizeof(spec), "package-%02zu==1.0.0",
			 wanted.count);
		package_parse(spec, &wanted.item[wanted.count]);
		if (wanted.count != 9 && wanted.count != 63)
			continue;
		wanted.count++;
		environment_catalog_find(c, &(struct environment_wanted){
			ASKER, "base", &wanted }, ret, &err);
		printf("# %s\n", err.text);
		ok(strlen(err.text) < sizeof(err.text) - 14 &&
		   strstr(err.text, "package-00==1.0.0 and ") &&
		   strstr(err.text, "fsd env build p-"),
		   "%zu packages: the first, and the command", wanted.count);
		ok(!!strstr(err.text, " --pypi package-09==1.0.0") ==
			   (wanted.count == 10),
		   "the command has all of them if there is room");
		wanted.count--;
	}
	packages_done(&wanted);
}

/* A look-up reads no file: the locks are there no more. */
static void test_cached(void)
{
	asks("base", PANDAS, "small");
	is_int(sh("touch -d '1 hour ago' names"), 0, "an hour goes");
	asks("base", PANDAS, "small");
	is_int(sh("chmod -R u+w sets && rm -r sets"), 0, "all sets go");
	asks("base", PANDAS, "small");
	is_int(sh("rm names/small"), 0, "a name goes");
	asks("base", PANDAS, "data");
}

int main(void)
{
	ok(mkdtemp(top) != NULL, "a directory");
	make_catalog();
	test_which();
	test_refused();
	test_made();
	test_lacks();
	test_long();
	test_cached();
	environment_catalog_free(catalog);
	is_int(sh("rm -r names sources; rmdir $PWD"), 0, "its end");
	return done_testing();
}
