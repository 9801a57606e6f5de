/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program fsd-door: looks up names and connects for the jobs of one server. The
 * broker starts it, with the server's socket as descriptor 3. It is a program of its own,
 * so that the daemon links no resolver. It ends with its server.
 */
#include "door.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "vm/os/uids.h"

struct settings {
	struct door_files files;
	uint32_t uid_first, uid_count;
	bool check; /* only try it: for fsd doctor */
};

enum { OPT_POLICY = 1, OPT_ALLOW, OPT_HOSTS, OPT_RESOLV, OPT_FIRST, OPT_COUNT, OPT_CHECK };

static const struct option options[] = {
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "allow", required_argument, NULL, OPT_ALLOW },
	{ "hosts", required_argument, NULL, OPT_HOSTS },
	{ "resolv-conf", required_argument, NULL, OPT_RESOLV },
	{ "uid-first", required_argument, NULL, OPT_FIRST },
	{ "uid-count", required_argument, NULL, OPT_COUNT },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ NULL, 0, NULL, 0 },
};

static int set_number(uint32_t *to, const char *text)
{
	uint64_t n;

	if (parse_u64(text, 1, UINT32_MAX - 1, &n) < 0)
		return -EINVAL;
	*to = (uint32_t)n;
	return 0;
}

static int set(struct settings *s, int option, const char **rules)
{
	switch (option) {
	case OPT_POLICY:
		s->files.policy = optarg;
		return 0;
	case OPT_ALLOW:
		rules[s->files.rule_count++] = optarg;
		return 0;
	case OPT_HOSTS:
		s->files.hosts = optarg;
		return 0;
	case OPT_RESOLV:
		s->files.resolv_conf = optarg;
		return 0;
	case OPT_FIRST:
		return set_number(&s->uid_first, optarg);
	case OPT_COUNT:
		return set_number(&s->uid_count, optarg);
	case OPT_CHECK:
		s->check = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static int parse(int argc, char **argv, const char **rules, struct settings *ret)
{
	int option, r = 0;

	*ret = (struct settings){
		.files = { .rules = rules, .hosts = "/etc/hosts",
			   .resolv_conf = "/etc/resolv.conf" },
		.uid_first = UIDS_FIRST, .uid_count = UIDS_COUNT,
	};
	while (r == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
		r = set(ret, option, rules);
	if (r == 0 && (optind != argc || (ret->files.policy && ret->files.rule_count) ||
		       (!ret->check && !ret->files.policy && !ret->files.rule_count)))
		r = -EINVAL;
	if (r < 0)
		fputs("fsd-door is started by fsd mount: --policy FILE, or --allow RULE "
		      "for each rule\n", stderr);
	return r;
}

/* Reads, and gives up its rights. Return: 0, or negative errno with a sentence. */
static int prepare(struct door *d, const struct settings *s, struct door_texts *texts,
		   uint32_t *ret_walls, struct err *err)
{
	bool has_policy = s->files.policy || s->files.rule_count;
	int r = has_policy ? files_read(d, &s->files, texts, err) : 0;

	*ret_walls = 0;
	if (r == 0 && has_policy)
		r = files_seal(texts, d->policy.user_count, err);
	if (r == 0)
		r = loop_new(&d->loop);
	if (r == 0)
		r = resolver_new(d, s->files.resolv_conf, err);
	if (r == 0)
		r = door_restrain(d, s->uid_first, s->uid_count, ret_walls, err);
	if (r < 0 && !err->code)
		err_sys(err, r, "the network's helper");
	return r;
}

/* Writes the walls that it has, or what is wrong. Return: the exit code. */
static int check(struct door *d, const struct settings *s, struct door_texts *texts)
{
	struct err err = { 0 };
	uint32_t walls;
	char text[sizeof(err.text) + 1];
	int r = prepare(d, s, texts, &walls, &err);

	if (r < 0)
		snprintf(text, sizeof(text), "%s\n", err.text);
	else
		snprintf(text, sizeof(text), "walls%s%s\n",
			 walls & DOOR_WALL_USER ? " user" : "",
			 walls & DOOR_WALL_LANDLOCK ? " landlock" : "");
	/* stdio would make a system call that it has given up */
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		return 1;
	return r < 0;
}

/* Prepares, and tells the server the policy. Return: 0 or -1: the server has the
 * sentence. */
static int begin(struct door *d, const struct settings *s, struct door_texts *texts)
{
	struct err err = { 0 };
	uint32_t walls;
	int r = prepare(d, s, texts, &walls, &err);

	if (files_send(texts, walls, &err) < 0)
		return -1;
	return r < 0 ? -1 : 0;
}

static void finish(struct door *d)
{
	resolver_free(d);
	if (d->loop)
		loop_free(d->loop);
	hosts_done(&d->hosts);
	net_policy_done(&d->policy);
}

int main(int argc, char **argv)
{
	auto_free const char **rules = calloc((size_t)argc, sizeof(*rules));
	struct door door = { .code = 1 };
	struct door_texts texts = { .policy_fd = -1, .ca_fd = -1 };
	struct settings s;
	int code = 1;

	if (!rules || parse(argc, argv, rules, &s) < 0)
		return 2;
	clearenv(); /* c-ares and the C library read settings there */
	prctl(PR_SET_NAME, "fsd-door");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN); /* it ends with its server */
	list_init(&door.users);
	list_init(&door.jobs);
	list_init(&door.records);
	if (s.check)
		code = check(&door, &s, &texts);
	else if (begin(&door, &s, &texts) == 0)
		code = door_serve(&door);
	texts_done(&texts);
	finish(&door);
	return code;
}
