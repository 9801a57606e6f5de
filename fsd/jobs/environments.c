/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the environment that a config names or whose packages it asks for, and checks it
 * against the image and the job's memory. Also makes the first templates of a server. A
 * check may run on any thread: of the memory that threads share it reads only constants
 * and the index of packages.
 */
#include "environments.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vm/environment/catalog.h"
#include "vm/vm.h"

/* A job's least memory, in MiB, is a multiple of this. */
#define STEP_MB 64

struct environments {
	const struct environment_options *options; /* borrowed */
	struct image_about image;
	struct environment_catalog *catalog; /* owned: the index of packages; or NULL */
	struct loop_call warm;               /* makes the first templates */
};

/* Messages to users contain commands; these name the directory only if it is not a usual
 * one. */
static struct environment_catalog *
index_of(const struct environment_options *options,
	 const struct image_about *image)
{
	const char *env = getenv("FSD_ENVIRONMENTS");
	bool named = options->asked || (env && *env);
	const struct environment_catalog_of of = {
		.places = &options->places,
		.named = named ? options->places.dirs[0] : NULL,
		.abi = image->abi,
		.packages = image->packages ? image->packages : "",
	};

	return environment_catalog_new(&of);
}

int environments_new(const struct environment_options *options,
		     const struct image_about *image, struct environments **ret)
{
	struct environments *all = calloc(1, sizeof(*all));

	*ret = all;
	if (!all) {
		free(image->packages);
		return -ENOMEM;
	}
	all->options = options;
	all->image = *image;
	all->catalog = index_of(options, &all->image);
	return 0;
}

void environments_free(struct environments *all)
{
	if (!all)
		return;
	loop_call_del(&all->warm);
	environment_catalog_free(all->catalog);
	free(all->image.packages);
	free(all);
}

const struct image_about *environments_image(const struct environments *all)
{
	return &all->image;
}

const struct environment_places *environments_places(const struct environments *all)
{
	return &all->options->places;
}

static const char *spec_of(const struct fsd *d, const char *spec)
{
	const char *name = d->environments->options->name;

	if (spec)
		return spec;
	return name ? name : ENVIRONMENT_BASE;
}

const char *environments_name(const struct environment *e)
{
	return e ? e->name : ENVIRONMENT_BASE;
}

static uint64_t heap_mb(const struct environment *e)
{
	return (e->heap + MIB(1) - 1) / MIB(1);
}

/*
 * Return: the least memory of any program, plus the size of the modules that the
 * interpreter has imported: the program may write to all of their pages. Rounded up.
 */
uint64_t environments_least_mb(const struct environment *e)
{
	uint64_t mb = LIMIT_MEMORY_MIN_MB + (e ? heap_mb(e) : 0);

	if (!e || !e->heap)
		return LIMIT_MEMORY_MIN_MB;
	return (mb + STEP_MB - 1) / STEP_MB * STEP_MB;
}

static int check_memory(const struct environment *e,
			const struct job_config *config, struct err *err)
{
	uint64_t least = environments_least_mb(e);

	if (config->memory_mb >= least)
		return 0;
	return err_set(err, -EINVAL, "\"memory_mb\" is %" PRIu64 "; it must be "
		       "at least %" PRIu64 " in environment %s, whose modules "
		       "take %" PRIu64 " MB", config->memory_mb, least, e->name,
		       heap_mb(e));
}

/* Errors of this host are no fault of the config. */
static bool is_hosts(int r)
{
	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -EIO;
}

static int open_one(const struct fsd *d, const struct environment_places *places,
		    const char *spec, struct environment **ret, struct err *err)
{
	const struct image_about *image = &d->environments->image;
	int r = environment_open(places, spec_of(d, spec), ret, err);

	if (r < 0 || !*ret || !image->abi[0])
		return r;
	r = environment_fits(*ret, image->abi,
			     image->packages ? image->packages : "", err);
	if (r < 0)
		environment_unref(take_ptr(*ret));
	return r;
}

bool environments_has(const struct fsd *d, uid_t uid,
		      const struct environment *e,
		      const struct job_config *config)
{
	const struct environment_wanted wanted = {
		.uid = uid, .spec = config->environment,
		.packages = &config->packages,
	};

	return environment_catalog_has(d->environments->catalog,
				       e ? e->id : "", &wanted);
}

static struct environment_places places_of(const struct fsd *d, uid_t uid)
{
	struct environment_places places = *environments_places(d->environments);

	places.is_users = true;
	places.uid = uid;
	return places;
}

static struct environment_wanted wanted_of(const struct fsd *d, uid_t uid,
					   const struct job_config *config)
{
	return (struct environment_wanted){
		.uid = uid, .spec = spec_of(d, config->environment),
		.packages = &config->packages,
	};
}

/* Opens the environment for the config's "environment" and "packages". */
static int open_asked(const struct fsd *d, uid_t uid,
		      const struct job_config *config,
		      struct environment **ret, struct err *err)
{
	const struct environment_places places = places_of(d, uid);
	const struct environment_wanted wanted = wanted_of(d, uid, config);
	char found[ENVIRONMENT_SPEC_MAX];
	const char *spec = wanted.spec;
	int r = 0;

	if (config->packages.count) {
		r = environment_catalog_find(d->environments->catalog, &wanted,
					     found, err);
		spec = found;
	}
	if (r < 0 || !strcmp(spec, ENVIRONMENT_BASE))
		return r;
	return open_one(d, &places, spec, ret, err);
}

int environments_open(const struct fsd *d, uid_t uid,
		      const struct job_config *config,
		      struct environment **ret, struct err *err)
{
	int r;

	*ret = NULL;
	r = open_asked(d, uid, config, ret, err);
	if (r == 0 && *ret)
		r = check_memory(*ret, config, err);
	if (r == 0)
		return 0;
	environment_unref(take_ptr(*ret));
	err_wrap(err, "config.json");
	return is_hosts(r) ? r : -EINVAL;
}

/* A job in a sandbox uses the sandbox's environment, so no other one is built for it. */
bool environments_lack(const struct fsd *d, uid_t uid,
		       const struct job_config *config, struct buf *ret)
{
	const struct environment_wanted wanted = wanted_of(d, uid, config);

	return d->builds && config->packages.count && !config->sandbox &&
	       environment_catalog_lacks(d->environments->catalog, &wanted, ret,
					 NULL) == 0;
}

int environments_on_find(void *arg, const char *spec,
			 struct environment **ret)
{
	const struct fsd *d = arg;
	struct err err;
	int r;

	*ret = NULL;
	r = open_one(d, environments_places(d->environments), spec, ret, &err);
	if (r < 0)
		log_info("no machine is kept idle for an environment that jobs "
			 "asked for before: %s", err.text);
	return r;
}

int environments_check(const struct fsd *d, uid_t uid,
		       struct job_config *config, struct err *err)
{
	auto_buf struct buf words = { 0 };
	struct environment *e = NULL;
	uint64_t given = config->memory_mb;
	int r;

	if (!config->memory_given)
		config->memory_mb = UINT64_MAX;
	r = environments_open(d, uid, config, &e, err);
	config->memory_mb = given;
	if (r == -EINVAL && environments_lack(d, uid, config, &words))
		return 0;
	if (r == 0 && !config->memory_given && e)
		config->memory_mb = MAX(given, environments_least_mb(e));
	environment_unref(e);
	return r;
}

bool environments_is(const struct fsd *d, const struct environment *e,
		     const char *spec)
{
	struct environment_spec s;

	if (environment_spec_parse(spec_of(d, spec), &s, NULL) < 0 ||
	    strcmp(s.name, environments_name(e)) != 0)
		return false;
	return !e || !strncmp(e->id, s.digits, strlen(s.digits));
}

/* --- before the first job ------------------------------------------------------- */

static void warm_one(struct fsd *d, const char *spec)
{
	const struct job_config config = {
		.environment = (char *)(uintptr_t)spec, .memory_mb = UINT64_MAX,
	};
	struct environment *e = NULL;
	struct err err = { 0 };
	int r = environments_open(d, 0, &config, &e, &err);

	if (r == 0 && e)
		r = vm_make_template(d->vm, e);
	if (r < 0)
		log_warn("the template of environment %s is not made: %s", spec,
			 err.text[0] ? err.text : strerror(-r));
	environment_unref(e);
}

static void on_warm(struct loop_call *call)
{
	struct fsd *d = call->arg;
	const struct environment_options *o = d->environments->options;
	auto_free char *names = o->warm ? strdup(o->warm) : NULL;
	char *save = NULL;

	if (o->name)
		warm_one(d, o->name);
	for (char *name = names ? strtok_r(names, ",", &save) : NULL; name;
	     name = strtok_r(NULL, ",", &save))
		warm_one(d, name);
}

void environments_warm(struct fsd *d)
{
	d->environments->warm = (struct loop_call){ .fn = on_warm, .arg = d };
	loop_defer(d->loop, &d->environments->warm);
}
