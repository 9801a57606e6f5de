/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Setters of the keys that describe the machine and its interpreter:
 * environment, packages, warm. Pure.
 */
#include "config_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "environment.h"

/* Checks only the form: the existing environments are not known here. */
int config_set_environment(struct parse *p, const struct field *f,
			   json_t *value)
{
	const char *text = config_text(value);
	struct environment_spec spec;
	int r;

	if (!text)
		return config_wrong(p, f, value, "a name of fsd env list");
	r = environment_spec_parse(text, &spec, p->err);
	if (r < 0)
		return r;
	p->config->environment = strdup(text);
	return p->config->environment ? 0 : config_no_memory(p);
}

/* Inserts p in order. Return: 0, or -EINVAL: the package is in the list
 * already. */
static int insert(struct parse *parse, struct packages *list,
		  const struct package *p)
{
	size_t at = 0;

	while (at < list->count && package_order(&list->item[at], p) < 0 &&
	       !package_is(&list->item[at], p))
		at++;
	if (at < list->count && package_is(&list->item[at], p)) {
		const struct package *other = &list->item[at];

		if (package_version_is(p, other->version))
			return err_set(parse->err, -EINVAL,
				       "\"packages\" has %.80s %.40s twice; "
				       "name it once", p->name, p->version);
		return err_set(parse->err, -EINVAL,
			       "\"packages\" has %.80s %.40s and %.40s; it "
			       "must have one version of a package", p->name,
			       other->version, p->version);
	}
	memmove(&list->item[at + 1], &list->item[at],
		(list->count - at) * sizeof(*list->item));
	list->item[at] = *p;
	list->count++;
	return 0;
}

static int add_package(struct parse *p, const json_t *value)
{
	const char *text = config_text(value);
	struct package package;
	const char *fault = text ? package_parse(text, &package) :
				   "it must be a text, as \"pandas==2.2.3\"";
	char room[96];

	if (fault)
		return err_set(p->err, -EINVAL, "\"packages\" has %s; %s",
			       config_found(value, room), fault);
	return insert(p, &p->config->packages, &package);
}

int config_set_packages(struct parse *p, const struct field *f, json_t *value)
{
	struct packages *list = &p->config->packages;
	size_t count = json_array_size(value);
	int r = 0;

	if (!json_is_array(value))
		return config_wrong(p, f, value, "a list of packages, as "
				    "[\"pandas==2.2.3\"]");
	if (count > f->max)
		return err_set(p->err, -EINVAL,
			       "\"packages\" has %zu entries; at most %llu are "
			       "allowed", count, (unsigned long long)f->max);
	list->item = calloc(count + 1, sizeof(*list->item));
	if (!list->item)
		return config_no_memory(p);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_package(p, json_array_get(value, i));
	return r;
}

int config_set_warm(struct parse *p, const struct field *f, json_t *value)
{
	if (!json_is_boolean(value))
		return config_wrong(p, f, value, "true or false");
	p->config->fresh = json_is_false(value);
	return 0;
}
