/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes, loads and attaches the sk_lookup program. The addresses 198.18.1.0 and up
 * stand for names: each has a row of port ranges, which the helper fills. A connection
 * to another port is dropped: the kernel answers it with a reset.
 *
 * The instructions are written here by C code, so the build needs no compiler for BPF.
 * Blocks that others jump to come first, so every jump goes to a known place.
 */
#include "net_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

#define CODE_MAX 160u
/* Not GPL: the helper functions that it calls are open to every licence. */
#define LICENCE "Apache-2.0"

enum { R0, R1, R2, R3, R6 = 6, R7, R8, FRAME = 10 };

struct code {
	struct bpf_insn at[CODE_MAX];
	unsigned count;
};

static void emit(struct code *c, uint8_t op, int dst, int src, int off,
		 int32_t imm)
{
	if (c->count < CODE_MAX)
		c->at[c->count] = (struct bpf_insn){
			.code = op, .dst_reg = (uint8_t)dst & 15,
			.src_reg = (uint8_t)src & 15, .off = (int16_t)off, .imm = imm,
		};
	c->count++;
}

static void set(struct code *c, int dst, int32_t value)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value);
}

static void copy(struct code *c, int dst, int src)
{
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void load(struct code *c, uint8_t size, int dst, int src, size_t off)
{
	emit(c, BPF_LDX | BPF_MEM | size, dst, src, (int)off, 0);
}

static int away(const struct code *c, unsigned to)
{
	return (int)to - (int)c->count - 1;
}

/* Adds a jump to instruction `to`, if the register compares in this way with value. */
static void jump_if(struct code *c, uint8_t how, int reg, uint32_t value,
		    unsigned to)
{
	emit(c, BPF_JMP32 | how | BPF_K, reg, 0, away(c, to), (int32_t)value);
}

static void jump(struct code *c, unsigned to)
{
	emit(c, BPF_JMP | BPF_JA, 0, 0, away(c, to), 0);
}

static void call(struct code *c, int32_t function)
{
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

static unsigned emit_end(struct code *c, int verdict)
{
	unsigned at = c->count;

	set(c, R0, verdict);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	return at;
}

/* Emits a look-up in the map: R0 becomes the address of the value whose key is in R2.
 * If there is none, the program jumps to `drop`. */
static void look_up(struct code *c, int map, unsigned drop)
{
	emit(c, BPF_STX | BPF_MEM | BPF_W, FRAME, R2, -4, 0);
	copy(c, R2, FRAME);
	emit(c, BPF_ALU64 | BPF_ADD | BPF_K, R2, 0, 0, -4);
	emit(c, BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map);
	emit(c, 0, 0, 0, 0, 0); /* the second half of this 16-byte instruction */
	call(c, BPF_FUNC_map_lookup_elem);
	emit(c, BPF_JMP | BPF_JEQ | BPF_K, R0, 0, away(c, drop), 0);
}

static unsigned emit_give(struct code *c, int listeners, unsigned pass,
			  unsigned drop)
{
	unsigned at = c->count;

	set(c, R2, 0);
	look_up(c, listeners, drop);
	copy(c, R7, R0);
	copy(c, R1, R6);
	copy(c, R2, R0);
	set(c, R3, 0);
	call(c, BPF_FUNC_sk_assign);
	copy(c, R8, R0);
	copy(c, R1, R7);
	call(c, BPF_FUNC_sk_release);
	jump_if(c, BPF_JNE, R8, 0, drop);
	jump(c, pass);
	return at;
}

static unsigned emit_literal(struct code *c, int table, unsigned give,
			     unsigned drop)
{
	unsigned at = c->count;

	set(c, R2, NET_LOOKUP_NAMES);
	look_up(c, table, drop);
	load(c, BPF_H, R1, R0, 0);
	jump_if(c, BPF_JEQ, R1, 0, drop);
	jump(c, give);
	return at;
}

#define CTX(member) offsetof(struct bpf_sk_lookup, member)

static unsigned emit_ip6(struct code *c, unsigned pass, unsigned literal)
{
	unsigned at = c->count;

	for (unsigned i = 0; i < 3; i++) {
		load(c, BPF_W, R1, R6, CTX(local_ip6) + 4 * i);
		jump_if(c, BPF_JNE, R1, 0, literal);
	}
	load(c, BPF_W, R1, R6, CTX(local_ip6) + 12);
	jump_if(c, BPF_JEQ, R1, htonl(1), pass); /* ::1 */
	jump(c, literal);
	return at;
}

/* The row's number is in R2, the port in R7. */
static void emit_ranges(struct code *c, int table, unsigned give, unsigned drop)
{
	look_up(c, table, drop);
	for (unsigned i = 0; i < NET_LOOKUP_RANGES; i++) {
		load(c, BPF_H, R1, R0, 4 * i + 2);
		/* the port is above the range: skip the next two instructions */
		emit(c, BPF_JMP32 | BPF_JGT | BPF_X, R7, R1, 2, 0);
		load(c, BPF_H, R1, R0, 4 * i);
		emit(c, BPF_JMP32 | BPF_JGE | BPF_X, R7, R1, away(c, give), 0);
	}
	jump(c, drop);
}

static void emit_ip4(struct code *c, int table, unsigned pass, unsigned drop,
		     unsigned give, unsigned literal)
{
	load(c, BPF_W, R2, R6, CTX(local_ip4));
	emit(c, BPF_ALU | BPF_END | BPF_TO_BE, R2, 0, 0, 32);
	copy(c, R1, R2);
	emit(c, BPF_ALU64 | BPF_RSH | BPF_K, R1, 0, 0, 24);
	jump_if(c, BPF_JEQ, R1, 127, pass);
	emit(c, BPF_ALU | BPF_SUB | BPF_K, R2, 0, 0, (int32_t)NET_LOOKUP_NET);
	jump_if(c, BPF_JLT, R2, NET_LOOKUP_OWN, pass);
	jump_if(c, BPF_JGE, R2, 1u << 17, literal);
	emit(c, BPF_ALU | BPF_SUB | BPF_K, R2, 0, 0, NET_LOOKUP_OWN);
	jump_if(c, BPF_JGE, R2, NET_LOOKUP_NAMES, drop);
	emit_ranges(c, table, give, drop);
}

static void write_code(struct code *c, int table, int listeners)
{
	unsigned start, pass, drop, give, literal, ip6;

	copy(c, R6, R1);
	start = c->count;
	jump(c, start + 1); /* set below */
	pass = emit_end(c, SK_PASS);
	drop = emit_end(c, SK_DROP);
	give = emit_give(c, listeners, pass, drop);
	literal = emit_literal(c, table, give, drop);
	ip6 = emit_ip6(c, pass, literal);
	c->at[start].off = (int16_t)(c->count - start - 1);
	load(c, BPF_W, R1, R6, CTX(protocol));
	jump_if(c, BPF_JNE, R1, IPPROTO_TCP, pass);
	load(c, BPF_W, R7, R6, CTX(local_port));
	load(c, BPF_W, R1, R6, CTX(family));
	jump_if(c, BPF_JEQ, R1, AF_INET6, ip6);
	emit_ip4(c, table, pass, drop, give, literal);
}

static int bpf(int command, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int make_map(uint32_t type, uint32_t value, uint32_t most, uint32_t flags)
{
	union bpf_attr a = { .map_type = type, .key_size = 4,
			     .value_size = value, .max_entries = most,
			     .map_flags = flags };

	return bpf(BPF_MAP_CREATE, &a);
}

static int put_listener(int listeners, int listener)
{
	uint32_t key = 0;
	uint64_t value = (uint64_t)listener;
	union bpf_attr a = { 0 };

	a.map_fd = (uint32_t)listeners;
	a.key = (uintptr_t)&key;
	a.value = (uintptr_t)&value;
	return bpf(BPF_MAP_UPDATE_ELEM, &a);
}

static int load_program(const struct code *c)
{
	union bpf_attr a = { .prog_type = BPF_PROG_TYPE_SK_LOOKUP };

	if (c->count > CODE_MAX)
		return -E2BIG;
	a.expected_attach_type = BPF_SK_LOOKUP;
	a.insns = (uintptr_t)c->at;
	a.insn_cnt = c->count;
	a.license = (uintptr_t)LICENCE;
	return bpf(BPF_PROG_LOAD, &a);
}

static int attach(int program)
{
	auto_close int names = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	union bpf_attr a = { 0 };

	if (names < 0)
		return -errno;
	a.link_create.prog_fd = (uint32_t)program;
	a.link_create.target_fd = (uint32_t)names;
	a.link_create.attach_type = BPF_SK_LOOKUP;
	return bpf(BPF_LINK_CREATE, &a);
}

int net_lookup_open(int listener, struct net_lookup *ret, struct err *err)
{
	auto_close int table = make_map(BPF_MAP_TYPE_ARRAY,
					sizeof(struct net_lookup_row),
					NET_LOOKUP_ROWS, BPF_F_MMAPABLE);
	auto_close int listeners = make_map(BPF_MAP_TYPE_SOCKMAP, 8, 1, 0);
	auto_close int program = -1;
	struct code code = { .count = 0 };
	int r;

	if (table < 0 || listeners < 0)
		return err_sys(err, table < 0 ? table : listeners, "BPF maps");
	r = put_listener(listeners, listener);
	if (r < 0)
		return err_sys(err, r, "the listener's place in a map");
	write_code(&code, table, listeners);
	program = load_program(&code);
	if (program < 0)
		return err_sys(err, program, "the kernel does not take the "
			       "program of %u instructions", code.count);
	r = attach(program);
	if (r < 0)
		return err_sys(err, r, "cannot attach the program");
	*ret = (struct net_lookup){ .table = take_fd(&table), .link = r };
	return 0;
}
