/* SPDX-License-Identifier: Apache-2.0 */
/* Between the daemon and its keeper: one struct a message, SOCK_SEQPACKET. */
#ifndef FSD_KEEPER_INT_H
#define FSD_KEEPER_INT_H

#include "../vm/fdpass.h"
#include "../vm/spawn.h"
#include "keeper.h"

enum keeper_op {
	KEEPER_CLONE = 1, KEEPER_NOTIFY, KEEPER_CALL, KEEPER_UMOUNT,
	KEEPER_OPENS,
	KEEPER_OPS
};

struct keeper_request {
	uint32_t op;
	int32_t pid;  /* CALL, OPENS */
	uint64_t ino; /* OPENS */
};

struct keeper_answer {
	int32_t code;      /* 0 or a negative errno */
	uint32_t is_clone; /* CLONE */
	int32_t pid;       /* NOTIFY */
	uint64_t call[KEEPER_CALL_WORDS];
};

#define KEEPER_FDS_MAX 2

#endif
