/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest refusal of each user. The list has at most LAST_ERRORS_MAX users; a
 * further user takes the place of the one that was refused longest ago. A new
 * sentence changes the times that its user sees. On the loop's thread.
 */
#include "last_error.h"

#include <stdio.h>
#include <stdlib.h>

#include "fsd/base/fiber.h"
#include "users_int.h"

#define LAST_ERRORS_MAX 256

struct last_error {
	struct list node; /* link in users->errors */
	uid_t uid;
	uint64_t request; /* fiber_number() when the sentence was set; 0: none */
	char text[800];
};

static struct last_error *find(struct users *users, uid_t uid, unsigned *count)
{
	struct last_error *found = NULL;

	list_for_each(pos, tmp, &users->errors) {
		struct last_error *e = list_entry(pos, struct last_error, node);

		if (e->uid == uid)
			found = e;
		++*count;
	}
	return found;
}

static void set(struct users *users, uid_t uid, const char *text)
{
	unsigned count = 0;
	struct last_error *e = find(users, uid, &count);

	if (!e && count >= LAST_ERRORS_MAX)
		e = list_entry(users->errors.prev, struct last_error, node);
	if (!e)
		e = calloc(1, sizeof(*e));
	if (!e)
		return;
	list_del(&e->node);
	e->uid = uid;
	e->request = *fiber_number();
	snprintf(e->text, sizeof(e->text), "%s", text);
	list_add(&users->errors, &e->node);
	user_changed(users, user_of(users, uid));
}

void last_error_set(struct users *users, uid_t uid, const char *path,
		    const char *sentence)
{
	char text[800];

	snprintf(text, sizeof(text), "%.250s: %.540s", path, sentence);
	utf8_make_plain(text); /* a name in it may have any bytes */
	set(users, uid, text);
}

const char *last_error_text(struct users *users, uid_t uid)
{
	unsigned count = 0;
	const struct last_error *e = find(users, uid, &count);

	return e ? e->text : NULL;
}

bool last_error_is_set(struct users *users, uid_t uid)
{
	unsigned count = 0;
	const struct last_error *e = find(users, uid, &count);

	return *fiber_number() && e && e->request == *fiber_number();
}

bool last_error_pass_on(struct users *users, uid_t uid, uid_t from)
{
	unsigned count = 0;

	if (!last_error_is_set(users, from))
		return false;
	set(users, uid, find(users, from, &count)->text);
	return true;
}

void last_errors_free(struct users *users)
{
	list_for_each(pos, tmp, &users->errors)
		free(list_entry(pos, struct last_error, node));
	list_init(&users->errors);
}
