/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates the network of sandboxes from the fields of E2B's clients to "network" of a
 * sandbox's config.json. On workers.
 */
#ifndef GATEWAY_EGRESS_H
#define GATEWAY_EGRESS_H

#include "fsd/gateway/http/request.h"

/* The network that the mount gives the gateway's user, by .fsd/network. */
struct egress_offer {
	bool network; /* programs may reach servers that the operator allows */
	bool ports;   /* other programs may connect to ports of a machine */
};
struct egress_offer egress_offer(struct gateway *g);
/* Adds what programs can reach, for a model: "without a network" or "with a network that
 * reaches ...". */
void egress_words(struct gateway *g, struct buf *out);
/* Sets "network" of a config to all that the operator allows, for clients that cannot ask
 * for a network. */
void egress_default(struct gateway *g, json_t *config);

/*
 * Takes the fields of a request that makes a sandbox (create) or changes its network:
 * sets "network" and "ports" of config and what GET shows of it in meta. Return: false:
 * it has replied.
 */
bool egress_take(struct request *r, const json_t *body, bool create, json_t *config,
		  json_t *meta);
/* Adds to ret what GET shows of the network. */
void egress_show(const json_t *meta, json_t *ret);

/* PUT /sandboxes/{}/network: replaces the rules of a sandbox. */
void put_network(struct request *r);

#endif
