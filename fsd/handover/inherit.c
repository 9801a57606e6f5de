/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps the shared memory of the handover, and adds, finds and removes records of its
 * tables. The table `tables` has each table's offset, record size and maximum;
 * assertions check that no two overlap.
 *
 * A struct inherit owns the mapping and, in private memory, lists of free slots: the
 * next server rebuilds them by inherit_recycle(). All functions run on the loop.
 */
#include "inherit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "layout/layout.h"

#define REPLAYS 1024u
#define MUXES 512u
#define SANDBOXES 2048u
#define SEATS (1u << 18)
#define REMOTES (1u << 18)
#define HEAD_AT 0
#define MESSAGE_AT KIB(64)
#define MESSAGE_SIZE (MIB(1) + KIB(64))
#define REPLAYS_AT (GIB(5) + MIB(256))
#define SEATS_AT (GIB(6) + MIB(256))
#define MUXES_AT (GIB(6) + MIB(512))
#define SANDBOXES_AT (GIB(8) + MIB(512))
#define REMOTES_AT GIB(13)
#define WHOLE (REMOTES_AT + REMOTES * sizeof(struct inherit_guest_inode))

static const struct {
	uint64_t at;
	uint32_t size, most;
} tables[INHERIT_TABLES] = {
	[INHERIT_REQUESTS] = { MIB(64), sizeof(struct inherit_request),
			       1u << 20 },
	[INHERIT_HANDLES] = { MIB(512), sizeof(struct inherit_handle),
			      1u << 20 },
	[INHERIT_NODES] = { GIB(1), sizeof(struct inherit_node), 1u << 24 },
	[INHERIT_UNTOLD] = { GIB(3), sizeof(struct inherit_untold), 1u << 20 },
	[INHERIT_JOBS] = { GIB(4), sizeof(struct inherit_job), 1u << 22 },
	[INHERIT_BLOCKS] = { GIB(2), sizeof(struct inherit_block), 1u << 16 },
	[INHERIT_REPLAYS] = { REPLAYS_AT, sizeof(struct vm_replay), REPLAYS },
	[INHERIT_SEATS] = { SEATS_AT, sizeof(struct inherit_seat), SEATS },
	[INHERIT_MUXES] = { MUXES_AT, sizeof(struct vm_mux), MUXES },
	[INHERIT_SANDBOXES] = { SANDBOXES_AT, sizeof(struct inherit_sandbox),
				SANDBOXES },
	[INHERIT_GUEST_INODES] = { REMOTES_AT, sizeof(struct inherit_guest_inode),
			      REMOTES },
};

_Static_assert(sizeof(struct inherit_head) <= MESSAGE_AT, "the head's room");
_Static_assert(MESSAGE_AT + INHERIT_MESSAGES * MESSAGE_SIZE <= MIB(64),
	       "the messages' room");
_Static_assert(sizeof(struct inherit_message) <= MESSAGE_SIZE, "one's room");
_Static_assert(sizeof(struct inherit_request) == 232, "as it lies in memory");
_Static_assert(sizeof(struct inherit_handle) == 64, "as it lies in memory");
_Static_assert(sizeof(struct inherit_node) == 48, "as it lies in memory");
_Static_assert(sizeof(struct inherit_job) == 312, "as it lies in memory");
_Static_assert(sizeof(struct vm_replay) == VM_REPLAY_HEAD + VM_REPLAY_ROOM + VM_REPLAY_FEED,
	       "as it lies in memory");
_Static_assert(REPLAYS_AT + REPLAYS * sizeof(struct vm_replay) <= SEATS_AT,
	       "the tapes' room");
_Static_assert(SEATS_AT + SEATS * sizeof(struct inherit_seat) <= MUXES_AT,
	       "the seats' room");
_Static_assert(MUXES_AT + MUXES * sizeof(struct vm_mux) <= SANDBOXES_AT,
	       "the muxes' room");
_Static_assert(SANDBOXES_AT + SANDBOXES * sizeof(struct inherit_sandbox) <=
	       REMOTES_AT, "the sandboxes' room");
_Static_assert(sizeof(struct inherit_block) == INHERIT_BLOCK,
	       "as it lies in memory");
_Static_assert(offsetof(struct inherit_message, data) % 8 == 0,
	       "a request begins with numbers");

struct inherit {
	uint8_t *base; /* owned mapping of WHOLE bytes */
	struct {
		uint32_t *slot;  /* owned: free places, last in first out */
		uint32_t count, size;
	} free[INHERIT_TABLES];
};

int inherit_make(void)
{
	auto_close int fd = memfd_create("fsd-inherit", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)WHOLE) < 0)
		return -errno;
	return take_fd(&fd);
}

static uint32_t *live_of(const struct inherit *in, enum inherit_table table,
			 uint32_t slot)
{
	/* A record begins with it. */
	return (uint32_t *)(void *)(in->base + tables[table].at +
				    (uint64_t)slot * tables[table].size);
}

int inherit_open(int fd, struct inherit **ret)
{
	struct inherit *in = calloc(1, sizeof(*in));
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *base = MAP_FAILED;
	struct inherit_head *head;

	if (in)
		base = mmap(NULL, WHOLE, PROT_READ | PROT_WRITE,
			    flags | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED) {
		free(in);
		return -ENOMEM;
	}
	in->base = base;
	head = inherit_head(in);
	if (!head->version)
		head->version = INHERIT_VERSION;
	if (head->version != INHERIT_VERSION) {
		inherit_close(in);
		return -EPROTO;
	}
	for (unsigned i = 0; i < INHERIT_TABLES; i++)
		head->count[i] = MIN(head->count[i], tables[i].most);
	*ret = in;
	return 0;
}

void inherit_close(struct inherit *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < INHERIT_TABLES; i++)
		free(in->free[i].slot);
	munmap(in->base, WHOLE);
	free(in);
}

struct inherit_head *inherit_head(struct inherit *in)
{
	return (struct inherit_head *)(void *)(in->base + HEAD_AT);
}

struct inherit_message *inherit_message(struct inherit *in, unsigned i)
{
	return (struct inherit_message *)(void *)(in->base + MESSAGE_AT +
						  i * MESSAGE_SIZE);
}

/* --- records ------------------------------------------------------------- */

static int push_free(struct inherit *in, enum inherit_table table,
		     uint32_t slot)
{
	uint32_t size = in->free[table].size;
	uint32_t *bigger;

	if (in->free[table].count == size) {
		size = size ? size * 2 : 256;
		bigger = realloc(in->free[table].slot, size * sizeof(*bigger));
		if (!bigger)
			return -ENOMEM; /* its place is lost until the end */
		in->free[table].slot = bigger;
		in->free[table].size = size;
	}
	in->free[table].slot[in->free[table].count++] = slot;
	return 0;
}

/* The bytes of a new record that must be zeroed: its owner writes all others. */
static size_t zeroed(enum inherit_table table)
{
	switch (table) {
	case INHERIT_BLOCKS:
		return sizeof(uint32_t);
	case INHERIT_REPLAYS:
		return VM_REPLAY_HEAD;
	case INHERIT_MUXES:
		return VM_MUX_HEAD;
	case INHERIT_SANDBOXES:
		return INHERIT_SANDBOX_HEAD;
	case INHERIT_GUEST_INODES:
		return offsetof(struct inherit_guest_inode, path);
	default:
		return tables[table].size;
	}
}

void *inherit_add(struct inherit *in, enum inherit_table table,
		  uint32_t *ret_place)
{
	struct inherit_head *head = inherit_head(in);
	uint32_t slot, *live;

	if (in->free[table].count)
		slot = in->free[table].slot[--in->free[table].count];
	else if (head->count[table] < tables[table].most)
		slot = head->count[table]++;
	else
		return NULL;
	live = live_of(in, table, slot);
	memset(live, 0, zeroed(table));
	*ret_place = slot;
	return live;
}

void *inherit_at(struct inherit *in, enum inherit_table table, uint32_t slot)
{
	uint32_t *live;

	if (slot >= inherit_head(in)->count[table])
		return NULL;
	live = live_of(in, table, slot);
	return __atomic_load_n(live, __ATOMIC_ACQUIRE) ? live : NULL;
}

uint32_t inherit_count(const struct inherit *in, enum inherit_table table)
{
	return ((const struct inherit_head *)(const void *)in->base)
		->count[table];
}

uint32_t inherit_slot(const struct inherit *in, enum inherit_table table,
		      const void *record)
{
	return (uint32_t)(((uint64_t)((const uint8_t *)record - in->base) -
			   tables[table].at) / tables[table].size);
}

void inherit_del(struct inherit *in, enum inherit_table table, void *record)
{
	uint32_t *live = record;

	__atomic_store_n(live, 0u, __ATOMIC_RELEASE);
	push_free(in, table, inherit_slot(in, table, record));
}

void inherit_recycle(struct inherit *in, enum inherit_table table)
{
	in->free[table].count = 0; /* what was given up before is found again */
	for (uint32_t i = inherit_count(in, table); i--;)
		if (!inherit_at(in, table, i))
			push_free(in, table, i);
}

void inherit_clear(struct inherit *in, enum inherit_table table)
{
	for (uint32_t i = 0; i < inherit_count(in, table); i++)
		*live_of(in, table, i) = 0;
	inherit_head(in)->count[table] = 0;
	in->free[table].count = 0;
}
