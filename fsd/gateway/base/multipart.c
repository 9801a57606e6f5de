/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses multipart/form-data. Keeps only bytes that may still belong to a
 * boundary or to a part's head. Owns `rest`. Pure.
 */
#include "multipart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "target.h"

/* Finds a parameter of a header, name="value" or name=value. Return: false:
 * none. */
static bool parameter(const char *text, const char *name, char *ret, size_t size)
{
	size_t len = strlen(name), n = 0;

	for (const char *p = strchr(text, ';'); p; p = strchr(p, ';')) {
		p++;
		p += strspn(p, " \t");
		if (strncasecmp(p, name, len) != 0 || p[len] != '=')
			continue;
		p += len + 1;
		if (*p == '"') {
			for (p++; *p && *p != '"' && n + 1 < size; p++) {
				p += *p == '\\' && (p[1] == '"' || p[1] == '\\');
				ret[n++] = *p;
			}
		} else {
			n = strcspn(p, "; \t\r\n");
			n = n < size ? n : size - 1;
			memcpy(ret, p, n);
		}
		ret[n] = '\0';
		return true;
	}
	return false;
}

int multipart_begin(struct multipart *m, const char *content_type,
		    const struct multipart_ops *ops, void *arg)
{
	char boundary[72] = "";

	*m = (struct multipart){ .ops = ops, .arg = arg };
	if (!parameter(content_type, "boundary", boundary, sizeof(boundary)) ||
	    !*boundary)
		return -EINVAL;
	snprintf(m->mark, sizeof(m->mark), "\r\n--%s", boundary);
	/* no line end precedes the first boundary */
	return buf_str(&m->rest, "\r\n");
}

/*
 * Decodes a file name: only quotes and line ends are encoded, as %22, %0D, %0A.
 */
static void decode_name(char *text)
{
	char *to = text;

	for (const char *p = text; *p; to++)
		if (!strncasecmp(p, "%22", 3)) {
			*to = '"';
			p += 3;
		} else if (!strncasecmp(p, "%0d", 3)) {
			*to = '\r';
			p += 3;
		} else if (!strncasecmp(p, "%0a", 3)) {
			*to = '\n';
			p += 3;
		} else {
			*to = *p++;
		}
	*to = '\0';
}

/* Finds a header by its name in the lines of a head. */
static bool find_header(const char *head, const char *name, char *ret,
			size_t size)
{
	size_t len = strlen(name);

	while (*head) {
		size_t n = strcspn(head, "\r\n");

		if (!strncasecmp(head, name, len) && head[len] == ':') {
			snprintf(ret, size, "%.*s", (int)n, head);
			return true;
		}
		head += n;
		head += strspn(head, "\r\n");
	}
	return false;
}

static char *undecided(const struct multipart *m, size_t *len)
{
	*len = m->rest.len - m->used;
	return m->rest.data + m->used;
}

/* Parses the bytes after a boundary: "--" ends the body, a line end begins a
 * part's head. */
static int take_mark(struct multipart *m)
{
	size_t len;
	const char *data = undecided(m, &len);
	size_t blanks = strspn(data, " \t");

	if (len >= 2 && !memcmp(data, "--", 2)) {
		m->at = MP_OVER;
		return 1;
	}
	if (len < blanks + 2)
		return blanks > 64 ? -EINVAL : 0;
	if (memcmp(data + blanks, "\r\n", 2) != 0)
		return -EINVAL;
	/* keep its line end: an empty head ends there */
	m->used += blanks;
	m->at = MP_HEAD;
	return 1;
}

static int take_head(struct multipart *m)
{
	size_t len;
	char *data = undecided(m, &len);
	char *end = memmem(data, len, "\r\n\r\n", 4);
	char line[2048], name[256] = "", file[1600] = "";
	int r;

	if (!end)
		return len > MULTIPART_HEAD_MAX ? -E2BIG : 0;
	*end = '\0';
	if (strlen(data) != (size_t)(end - data))
		return -EINVAL; /* a NUL inside */
	if (find_header(data, "Content-Disposition", line, sizeof(line))) {
		parameter(line, "name", name, sizeof(name));
		parameter(line, "filename", file, sizeof(file));
		decode_name(file);
	}
	m->used += (size_t)(end + 4 - data);
	m->at = MP_BODY;
	r = m->ops->begin(m->arg, name, file);
	return r < 0 ? r : 1;
}

/* Takes bytes of a part, or those before the first one. */
static int take_body(struct multipart *m)
{
	size_t mark = strlen(m->mark), len;
	const char *data = undecided(m, &len);
	const char *found = memmem(data, len, m->mark, mark);
	size_t sure = found ? (size_t)(found - data)
		      : len >= mark ? len - mark + 1 : 0;
	int r = 0;

	if (m->at == MP_BODY && sure)
		r = m->ops->data(m->arg, data, sure);
	m->used += sure + (found ? mark : 0);
	if (r < 0 || !found)
		return r;
	if (m->at == MP_BODY)
		r = m->ops->end(m->arg);
	m->at = MP_MARK;
	return r < 0 ? r : 1;
}

static int (*const takers[])(struct multipart *m) = {
	[MP_PREAMBLE] = take_body, [MP_MARK] = take_mark, [MP_HEAD] = take_head,
	[MP_BODY] = take_body,
};

int multipart_add(struct multipart *m, const char *data, size_t len)
{
	int r = m->at == MP_OVER ? 0 : buf_add(&m->rest, data, len);

	if (r < 0)
		return r;
	r = 1;
	while (r > 0 && m->at != MP_OVER && m->used < m->rest.len)
		r = takers[m->at](m);
	/* once for all parts, since each time moves the rest */
	buf_eat(&m->rest, m->used);
	m->used = 0;
	return r < 0 ? r : 0;
}

bool multipart_over(const struct multipart *m)
{
	return m->at == MP_OVER;
}

void multipart_done(struct multipart *m)
{
	buf_done(&m->rest);
}
