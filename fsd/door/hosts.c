/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the hosts file, which comes before the name servers. A line is an address and its
 * names. The addresses of a name are judged like those of any other source.
 *
 * A large file may have a hundred thousand names, so they are sorted once and searched by
 * halves. Pure, but for memory.
 */
#include "door.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


#define BLANK " \t\r"
#define HOSTS_MOST (1u << 20) /* most names of a file */

struct words {
	const char *at, *end; /* the rest of a line */
};

/* Returns the next word of the line, NULL at its end or at a comment. */
static const char *next_word(struct words *w, size_t *ret_len)
{
	const char *word;

	while (w->at < w->end && strchr(BLANK, *w->at))
		w->at++;
	word = w->at;
	while (w->at < w->end && *w->at != '#' && !strchr(BLANK, *w->at))
		w->at++;
	*ret_len = (size_t)(w->at - word);
	return *ret_len ? word : NULL;
}

static int add(struct hosts *h, const char *name, const struct net_address *a)
{
	size_t room = h->count & (h->count - 1) ? 0 : h->count ? h->count * 2 : 1;
	struct host *more = h->item;

	if (h->count >= HOSTS_MOST)
		return 0;
	if (room)
		more = realloc(h->item, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	h->item = more;
	more[h->count] = (struct host){ strdup(name), *a, h->count };
	return more[h->count].name ? (h->count++, 0) : -ENOMEM;
}

static int read_line(struct hosts *h, struct words w)
{
	char name[HOST_NAME_MAX_LEN + 1];
	struct net_address a;
	const char *word;
	size_t len;
	int r = 0;

	word = next_word(&w, &len);
	if (!word || net_address_read(word, len, &a) < 0)
		return 0;
	while (r == 0 && (word = next_word(&w, &len)))
		if (host_name_read(word, len, name) == 0)
			r = add(h, name, &a);
	return r;
}

static int compare(const void *one, const void *two)
{
	const struct host *a = one, *b = two;
	int r = strcmp(a->name, b->name);

	return r ? r : (a->line > b->line) - (a->line < b->line);
}

int hosts_read(const char *text, size_t len, struct hosts *ret)
{
	const char *at = text, *end = text + len;
	struct hosts hosts = { 0 };
	int r = 0;

	while (r == 0 && at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		const char *stop = line_end ? line_end : end;

		if (!memchr(at, '\0', (size_t)(stop - at)))
			r = read_line(&hosts, (struct words){ at, stop });
		at = stop + 1;
	}
	if (r < 0)
		hosts_done(&hosts);
	else if (hosts.count)
		qsort(hosts.item, hosts.count, sizeof(*hosts.item), compare);
	*ret = hosts;
	return r;
}

void hosts_done(struct hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++)
		free(hosts->item[i].name);
	free(hosts->item);
	*hosts = (struct hosts){ 0 };
}

unsigned hosts_find(const struct hosts *hosts, const char *name, struct net_address *ret,
		    unsigned most)
{
	size_t low = 0, high = hosts->count;
	unsigned count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(hosts->item[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < hosts->count && count < most &&
	       !strcmp(hosts->item[low].name, name); low++)
		ret[count++] = hosts->item[low].address;
	return count;
}
