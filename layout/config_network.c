/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses "network", "ports" and "retry_network" of config.json. Whether the operator allows
 * what "network" and "ports" ask for is checked by the server (fsd/run/run_network.h).
 */
#include "config_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layout/base/cleanup.h"
#include "limits.h"

int config_set_network(struct parse *p, const struct field *f, json_t *value)
{
	auto_buf struct buf text = { 0 };
	struct job_config *c = p->config;
	int r;

	net_wish_done(&c->network);
	r = net_wish_from(value, &c->network, p->err);
	if (r < 0)
		return r;
	net_wish_print(&c->network, &text);
	if (text.failed)
		return err_set(p->err, text.failed, "out of memory");
	if (text.len > LIMIT_NETWORK_TEXT)
		return err_set(p->err, -EINVAL, "\"%s\" has %zu bytes of rules; at most "
			       "%u are allowed: one rule with \"*.\" covers all names "
			       "below a name", f->key, text.len, LIMIT_NETWORK_TEXT);
	free(c->network_text);
	c->network_text = take_ptr(text.data);
	return 0;
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
	struct config_ports *ports = &p->config->ports;
	size_t count = json_array_size(value);

	if (!json_is_true(value) && (!json_is_array(value) || !count ||
				     count > LIMIT_PORTS))
		return err_set(p->err, -EINVAL, "\"%s\" must be a list of 1 to %u ports, or "
			       "true", f->key, LIMIT_PORTS);
	for (size_t i = 0; i < count; i++) {
		int r = check_port(p, f, value, i);

		if (r < 0)
			return r;
		ports->item[i] = (uint16_t)json_integer_value(json_array_get(value, i));
	}
	ports->any = json_is_true(value);
	ports->count = (unsigned)count;
	return 0;
}

bool config_ports_equal(const struct config_ports *a, const struct config_ports *b)
{
	return a->any == b->any && a->count == b->count &&
	       !memcmp(a->item, b->item, a->count * sizeof(a->item[0]));
}

bool config_has_ports(const struct config_ports *ports)
{
	return ports->any || ports->count;
}

int config_set_retry_network(struct parse *p, const struct field *f, json_t *value)
{
	if (!json_is_boolean(value))
		return err_set(p->err, -EINVAL, "\"%s\" must be true or false", f->key);
	p->config->retry_network = json_is_true(value);
	return 0;
}
