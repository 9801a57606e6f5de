/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks "network", "ports" and "retry_network" of config.json, and then refuses them,
 * since no mount gives programs a network yet. A mistake in a value comes first: the author
 * of a rule learns at once whether it is one.
 */
#include "config_int.h"

#include <errno.h>

#include "layout/network/wish.h"
#include "limits.h"

static int refuse(struct parse *p, const struct field *f)
{
	return err_set(p->err, -EINVAL, "\"%s\": this mount gives programs no network; "
		       "leave the key out", f->key);
}

int config_set_network(struct parse *p, const struct field *f, json_t *value)
{
	struct net_wish wish;
	int r = net_wish_from(value, &wish, p->err);

	net_wish_done(&wish);
	return r < 0 ? r : refuse(p, f);
}

static int check_port(struct parse *p, const struct field *f, const json_t *list, size_t i)
{
	const json_t *item = json_array_get(list, i);
	json_int_t port = json_integer_value(item);

	if (!json_is_integer(item))
		return err_set(p->err, -EINVAL, "\"%s\"[%zu] is no integer; it must be a "
			       "port from %llu to %llu", f->key, i,
			       (unsigned long long)f->min, (unsigned long long)f->max);
	if (port < (json_int_t)f->min || port > (json_int_t)f->max)
		return err_set(p->err, -EINVAL, "\"%s\" has %lld; %sallowed are %llu to %llu",
			       f->key, (long long)port,
			       port > 0 && port < (json_int_t)f->min ?
				       "programs cannot listen below 1024: " : "",
			       (unsigned long long)f->min, (unsigned long long)f->max);
	for (size_t k = 0; k < i; k++)
		if (json_integer_value(json_array_get(list, k)) == port)
			return err_set(p->err, -EINVAL, "\"%s\" has %lld twice", f->key,
				       (long long)port);
	return 0;
}

int config_set_ports(struct parse *p, const struct field *f, json_t *value)
{
	size_t count = json_array_size(value);

	if (json_is_true(value))
		return refuse(p, f);
	if (!json_is_array(value) || !count || count > LIMIT_PORTS)
		return err_set(p->err, -EINVAL, "\"%s\" must be a list of 1 to %u ports, or "
			       "true", f->key, LIMIT_PORTS);
	for (size_t i = 0; i < count; i++) {
		int r = check_port(p, f, value, i);

		if (r < 0)
			return r;
	}
	return refuse(p, f);
}

int config_set_retry_network(struct parse *p, const struct field *f, json_t *value)
{
	if (!json_is_boolean(value))
		return err_set(p->err, -EINVAL, "\"%s\" must be true or false", f->key);
	return refuse(p, f);
}
