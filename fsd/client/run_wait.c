/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the user why a job waits for its machine: after a while, and when the reason has
 * changed. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job_view.h"
#include "run_int.h"

#define HEALTH_FIRST_NS NS_PER_S
#define WAITS_FIRST_NS (2 * NS_PER_S)
#define HEALTH_NEXT_NS (10 * NS_PER_S)

/* While no machine can be started, health ends in "(since TIME)". Between two attempts
 * its text differs for a while, which does not count as recovery. Return: true if it has
 * lasted too long. */
static bool is_hopeless(struct client *k, const char *health)
{
	uint64_t now = now_ns(), end;

	if (!strstr(health, " (since 20"))
		return false;
	if (!k->failing_ns)
		k->failing_ns = now;
	end = k->failing_ns + client_patience_ns();
	k->health_ns = MIN(k->health_ns, end);
	return now >= end;
}

static int give_up(struct client *k)
{
	uint64_t s = (now_ns() - k->failing_ns) / NS_PER_S;

	return client_fail(k, EXIT_NEVER_RAN, "the job has not run: for %llu s %s "
			"could have no machine; `fsd doctor` tells what is missing, "
			"FSD_PATIENCE changes how long to wait",
			(unsigned long long)s, k->mount.mnt);
}

/* True if the two texts differ by figures only. */
static bool is_same(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *b) {
		a += strspn(a, digits);
		b += strspn(b, digits);
		if (*a != *b)
			return false;
		a += *a != '\0';
		b += *b != '\0';
	}
	return !*a && !*b;
}

/* Prints what the job waits for, after two seconds, and again when the reason changes. A
 * change of the numbers in a sentence does not count. */
static void tell_waits(struct client *k)
{
	uint64_t due = k->begun_ns + WAITS_FIRST_NS;
	struct job_view v;

	if (now_ns() < due) {
		k->health_ns = due;
		return;
	}
	if (job_view_read(k->draft.dir, &v) < 0 || !v.waits[0] ||
	    is_same(v.waits, k->waits))
		return;
	snprintf(k->waits, sizeof(k->waits), "%s", v.waits);
	client_fail(k, 0, "the job %s", v.waits);
}

int waits_tell(struct client *k)
{
	auto_close int fd = openat(k->mount.root, ".fsd/health", O_RDONLY | O_CLOEXEC);
	char text[sizeof(k->health)], state[16];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	k->health_ns = now_ns() + HEALTH_NEXT_NS;
	if (n <= 0 || client_read(k, "state", state, sizeof(state)) <= 0 ||
	    strcmp(state, "queued\n") != 0) {
		k->health_ns = UINT64_MAX; /* the job runs */
		return 0;
	}
	text[n] = '\0';
	if (health_is_ok(text)) {
		k->failing_ns = 0;
		tell_waits(k);
	} else if (strcmp(text, k->health) != 0) {
		client_tell(k, text);
	}
	memcpy(k->health, text, (size_t)n + 1);
	return is_hopeless(k, text) ? give_up(k) : 0;
}

void waits_begin(struct client *k)
{
	k->begun_ns = now_ns();
	k->health_ns = k->begun_ns + HEALTH_FIRST_NS;
}
