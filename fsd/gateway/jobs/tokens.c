/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The known tokens of all sandboxes. A search lists the names in the mount and
 * reads only configs that it does not know. One worker at a time searches,
 * under the name "tokens" of alone.h.
 */
#include "tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* after this time a sandbox without a token is read again */
#define NONE_MS 1000u

struct entry {
	char name[SANDBOX_NAME];
	char token[SANDBOX_TOKEN + 1]; /* "": the sandbox had no token when it was read */
	uint64_t read_ms;              /* when the sandbox's config was read */
};

/* sorted by name */
struct tokens {
	struct entry *item; /* owned */
	size_t count;
};

int tokens_open(struct gateway *g)
{
	g->tokens = calloc(1, sizeof(*g->tokens));
	return g->tokens ? 0 : -ENOMEM;
}

void tokens_close(struct gateway *g)
{
	if (g->tokens)
		free(g->tokens->item);
	free(g->tokens);
	g->tokens = NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name,
		      ((const struct entry *)b)->name);
}

/* Copies the stored entry if it is good: a token never changes, but a sandbox without a
 * token may get one, so such an entry is good for NONE_MS. */
static bool is_known(const struct tokens *known, struct entry *entry)
{
	const struct entry *old =
		known->count ? bsearch(entry, known->item, known->count,
				       sizeof(*entry), by_name)
			     : NULL;

	if (!old || (!*old->token && reactor_now_ms() - old->read_ms >= NONE_MS))
		return false;
	*entry = *old;
	return true;
}

static void read_entry(struct gateway *g, struct entry *entry)
{
	struct sandbox *s = NULL;

	entry->read_ms = reactor_now_ms();
	if (sandbox_open_named(g, entry->name, &s, NULL) < 0)
		return;
	if (*s->id && strlen(s->token) <= SANDBOX_TOKEN)
		strcpy(entry->token, s->token);
	sandbox_free(s);
}

static int add_name(void *arg, const char *name)
{
	struct tokens *all = arg;
	struct entry *more;

	if (strlen(name) >= SANDBOX_NAME) /* too long for a sandbox that the gateway
					   * has made */
		return 0;
	more = reallocarray(all->item, all->count + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	all->item = more;
	more[all->count] = (struct entry){ 0 };
	strcpy(more[all->count++].name, name);
	return 0;
}

static void look(struct gateway *g)
{
	struct tokens all = { 0 };

	if (mount_list(&g->mount, SANDBOXES, add_name, &all, NULL) < 0) {
		free(all.item);
		return;
	}
	for (size_t i = 0; i < all.count; i++)
		if (!is_known(g->tokens, &all.item[i]))
			read_entry(g, &all.item[i]);
	if (all.count)
		qsort(all.item, all.count, sizeof(*all.item), by_name);
	free(g->tokens->item);
	*g->tokens = all;
}

bool tokens_find(struct gateway *g, bool (*fits)(void *arg, const char *token),
		 void *arg, char ret[SANDBOX_NAME])
{
	const struct tokens *known = g->tokens;
	struct alone alone;
	bool found = false;

	alone_begin(&g->alones, &alone, "tokens");
	look(g);
	for (size_t i = 0; i < known->count && !found; i++)
		if (*known->item[i].token && fits(arg, known->item[i].token)) {
			strcpy(ret, known->item[i].name);
			found = true;
		}
	alone_end(&alone);
	return found;
}
