/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the tables of this program in the shared memory, and adds, finds and removes their
 * records.
 *
 * The memory begins with a directory (struct head). Each table that a server has ever
 * declared has an entry there; the tables' records follow in the order of the entries. A
 * table of another version or record size is another table, with an entry of its own, so a
 * server never reads a record as something else. Entries are only added.
 *
 * A struct handover owns the mappings and, in private memory, lists of free slots: the
 * next server rebuilds them by handover_recycle().
 */
#include "handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Raise it with every change of struct head, or of the messages between the supervisor and
 * a server (server/supervisor.h, fdstore.h). */
#define FORMAT 0x48530001u

#define ENTRIES_MAX 500u
#define ALIGN KIB(64)       /* no system has larger pages */
#define BYTES_MAX (1ull << 40)

enum entry_state { ENTRY_FREE, ENTRY_USED, ENTRY_DROPPED };

struct head {
	uint32_t format;
	uint32_t served;       /* servers that have answered */
	struct entry {
		struct handover_table table;
		uint32_t state;  /* enum entry_state */
		uint32_t served; /* head.served when the entry was made */
		uint32_t count;  /* records that were ever in use */
	} entry[ENTRIES_MAX];
};

/* The linker sets both, around all HANDOVER_TABLE() of the program. */
extern const struct handover_table __start_handover_tables[] __attribute__((weak));
extern const struct handover_table __stop_handover_tables[] __attribute__((weak));

struct handover {
	int fd;            /* borrowed, or -1 */
	struct head *head; /* owned mapping */
	struct mapped {
		struct entry *entry; /* borrowed, of head */
		uint8_t *base;       /* owned mapping */
		uint32_t *free;      /* owned: free slots, last in first out */
		uint32_t count, size;
	} *table;          /* owned array, by the slot of the declaration */
};

static size_t tables(void)
{
	return ((uintptr_t)__stop_handover_tables - (uintptr_t)__start_handover_tables) /
	       sizeof(struct handover_table);
}

static struct mapped *mapped(const struct handover *h, const struct handover_table *t)
{
	return &h->table[t - __start_handover_tables];
}

static uint64_t bytes_of(const struct handover_table *t)
{
	return ((uint64_t)t->size * t->most + ALIGN - 1) / ALIGN * ALIGN;
}

/* Return: the offset of an entry's records; of entries_end(): the size of the memory. */
static uint64_t offset_of(const struct head *head, const struct entry *end)
{
	uint64_t at = (sizeof(*head) + ALIGN - 1) / ALIGN * ALIGN;

	for (const struct entry *e = head->entry; e < end; e++)
		at += bytes_of(&e->table);
	return at;
}

static struct entry *entries_end(struct head *head)
{
	struct entry *e = head->entry;

	while (e < &head->entry[ENTRIES_MAX] && e->state != ENTRY_FREE)
		e++;
	return e;
}

/* --- the directory ---------------------------------------------------------- */

int handover_make(void)
{
	auto_close int fd = memfd_create("fsd-handover", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(struct head)) < 0)
		return -errno;
	return take_fd(&fd);
}

static void *map(int fd, uint64_t at, size_t size)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd,
			  fd < 0 ? 0 : (off_t)at);

	return base == MAP_FAILED ? NULL : base;
}

static int differs(struct err *err, const char *why)
{
	return err_set(err, -EPROTO, "this fsd cannot take over from the one that served "
		       "before, %s; umount, then mount", why);
}

/* Checks the directory, which a compromised server may have damaged. */
static int check_entries(struct head *head, struct err *err)
{
	uint64_t bytes = 0;

	for (struct entry *e = head->entry; e < entries_end(head); e++) {
		bytes += bytes_of(&e->table);
		if (bytes > BYTES_MAX || !e->table.size || e->table.size % 4)
			return differs(err, "whose memory is damaged");
		e->count = MIN(e->count, e->table.most);
	}
	return 0;
}

/* Finds the entry of a table, or makes it. NULL: the directory is full. */
static struct entry *find_entry(struct head *head, const struct handover_table *t)
{
	struct entry *e = head->entry;

	for (; e < &head->entry[ENTRIES_MAX] && e->state != ENTRY_FREE; e++)
		if (e->state == ENTRY_USED && !memcmp(&e->table, t, sizeof(*t)))
			return e;
	if (e == &head->entry[ENTRIES_MAX])
		return NULL;
	memcpy(&e->table, t, sizeof(*t));
	e->count = t->most == 1;
	e->served = head->served;
	__atomic_store_n(&e->state, ENTRY_USED, __ATOMIC_RELEASE);
	return e;
}

static bool is_ours(const struct handover *h, const struct entry *e)
{
	for (size_t i = 0; i < tables(); i++)
		if (h->table[i].entry == e)
			return true;
	return false;
}

/* Return: 1: the table has a live record; 0: it has none; or -ENOMEM. */
static int has_records(const struct handover *h, const struct entry *e)
{
	size_t size = (size_t)e->table.size * e->count;
	const uint8_t *base;
	int r = 0;

	if (!size)
		return 0;
	base = map(h->fd, offset_of(h->head, e), size);
	for (size_t at = 0; base && at < size && !r; at += e->table.size)
		r = *(const uint32_t *)(const void *)(base + at) != 0;
	if (base)
		munmap((void *)(uintptr_t)base, size);
	return base ? r : -ENOMEM;
}

/* Fails if a table that this program does not declare has live records: they would be
 * lost. Tables of a program that never answered a request are dropped: the supervisor
 * tried it and started this one instead. */
static int check_others(struct handover *h, struct err *err)
{
	struct head *head = h->head;
	char why[100];
	int r = 0;

	for (struct entry *e = head->entry; e < entries_end(head); e++) {
		if (e->state != ENTRY_USED || e->served == head->served || is_ours(h, e))
			continue;
		r = has_records(h, e);
		if (r < 0)
			return r;
		snprintf(why, sizeof(why), "which has \"%.15s\", version %u",
			 e->table.name, e->table.version);
		utf8_make_plain(why);
		if (r)
			return differs(err, why);
	}
	for (struct entry *e = head->entry; e < entries_end(head); e++)
		if (!is_ours(h, e) && e->served == head->served)
			e->state = ENTRY_DROPPED;
	return 0;
}

static int find_entries(struct handover *h, struct err *err)
{
	int r = check_entries(h->head, err);

	for (size_t i = 0; r == 0 && i < tables(); i++) {
		h->table[i].entry = find_entry(h->head, &__start_handover_tables[i]);
		if (!h->table[i].entry)
			r = differs(err, "after so many upgrades");
	}
	return r < 0 ? r : check_others(h, err);
}

static int map_tables(struct handover *h)
{
	struct head *head = h->head;

	if (h->fd >= 0 &&
	    ftruncate(h->fd, (off_t)offset_of(head, entries_end(head))) < 0)
		return -errno;
	for (size_t i = 0; i < tables(); i++) {
		struct mapped *m = &h->table[i];

		m->base = map(h->fd, offset_of(head, m->entry),
			      bytes_of(&m->entry->table));
		if (!m->base)
			return -ENOMEM;
	}
	return 0;
}

int handover_open(int fd, struct handover **ret, struct err *err)
{
	struct handover *h = calloc(1, sizeof(*h));
	int r = -ENOMEM;

	if (h) {
		h->fd = fd;
		h->head = map(fd, 0, sizeof(*h->head));
		h->table = calloc(tables() + 1, sizeof(*h->table));
	}
	if (h && h->head && h->table) {
		if (!h->head->format)
			h->head->format = FORMAT;
		r = h->head->format == FORMAT ? find_entries(h, err)
					      : differs(err, "which is much older or newer");
	}
	if (r == 0)
		r = map_tables(h);
	if (r < 0) {
		handover_close(h);
		return r == -EPROTO ? r : err_sys(err, r, "the memory of the server before");
	}
	*ret = h;
	return 0;
}

void handover_close(struct handover *h)
{
	for (size_t i = 0; h && h->table && i < tables(); i++) {
		struct mapped *m = &h->table[i];

		free(m->free);
		if (m->base)
			munmap(m->base, bytes_of(&m->entry->table));
	}
	if (h && h->head)
		munmap(h->head, sizeof(*h->head));
	if (h)
		free(h->table);
	free(h);
}

void handover_serves(struct handover *h)
{
	h->head->served++;
}

bool handover_is_next(const struct handover *h)
{
	return h->head->served;
}

/* --- records ------------------------------------------------------------- */

static uint32_t *live_of(const struct mapped *m, uint32_t slot)
{
	return (uint32_t *)(void *)(m->base + (uint64_t)slot * m->entry->table.size);
}

static void push_free(struct mapped *m, uint32_t slot)
{
	uint32_t size = m->size ? m->size * 2 : 256;
	uint32_t *bigger;

	if (m->count == m->size) {
		bigger = realloc(m->free, size * sizeof(*bigger));
		if (!bigger)
			return; /* the slot stays unused until the next server */
		m->free = bigger;
		m->size = size;
	}
	m->free[m->count++] = slot;
}

void *handover_add(struct handover *h, const struct handover_table *t,
		   uint32_t *ret_slot)
{
	struct mapped *m = mapped(h, t);
	uint32_t *live;

	if (m->count)
		*ret_slot = m->free[--m->count];
	else if (m->entry->count < t->most)
		*ret_slot = m->entry->count++;
	else
		return NULL;
	live = live_of(m, *ret_slot);
	memset(live, 0, t->zeroed ? t->zeroed : t->size);
	return live;
}

void *handover_at(const struct handover *h, const struct handover_table *t,
		  uint32_t slot)
{
	struct mapped *m = mapped(h, t);
	uint32_t *live;

	if (slot >= m->entry->count)
		return NULL;
	live = live_of(m, slot);
	return __atomic_load_n(live, __ATOMIC_ACQUIRE) ? live : NULL;
}

void *handover_next(const struct handover *h, const struct handover_table *t,
		    uint32_t *at)
{
	void *record = NULL;

	while (!record && *at < mapped(h, t)->entry->count)
		record = handover_at(h, t, (*at)++);
	return record;
}

uint32_t handover_count(const struct handover *h, const struct handover_table *t)
{
	return mapped(h, t)->entry->count;
}

uint32_t handover_slot(const struct handover *h, const struct handover_table *t,
			const void *record)
{
	return (uint32_t)((size_t)((const uint8_t *)record - mapped(h, t)->base) / t->size);
}

void handover_del(struct handover *h, const struct handover_table *t, void *record)
{
	uint32_t *live = record;

	__atomic_store_n(live, 0u, __ATOMIC_RELEASE);
	push_free(mapped(h, t), handover_slot(h, t, record));
}

void handover_recycle(struct handover *h, const struct handover_table *t)
{
	struct mapped *m = mapped(h, t);

	m->count = 0; /* the loop finds the slots that were in the list */
	for (uint32_t i = m->entry->count; i--; )
		if (!handover_at(h, t, i))
			push_free(m, i);
}

void handover_clear(struct handover *h, const struct handover_table *t)
{
	struct mapped *m = mapped(h, t);

	for (uint32_t i = 0; i < m->entry->count; i++)
		*live_of(m, i) = 0;
	m->entry->count = 0;
	m->count = 0;
}

void *handover_fact(const struct handover *h, const struct handover_table *t)
{
	return live_of(mapped(h, t), 0);
}
