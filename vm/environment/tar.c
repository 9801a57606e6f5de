/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes and reads the header of one plain file in a POSIX tar. Owns no state;
 * any thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "archive.h"

/* Offsets and lengths of the header's fields. */
enum {
	NAME = 0, NAME_LEN = 100,
	MODE = 100, OWNER = 108, GROUP = 116,
	SIZE = 124, SIZE_LEN = 12,
	TIME = 136,
	CHECK = 148, CHECK_LEN = 8,
	TYPE = 156,
	MAGIC = 257, MAGIC_LEN = 5,
	PREFIX = 345,
};
#define TAR_TIME 1735689600ull /* the time of every file, as in the image */

/* Sums all bytes, with blanks in place of the checksum's own. */
static unsigned check_of(const uint8_t *block)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < TAR_BLOCK; i++)
		sum += i >= CHECK && i < CHECK + CHECK_LEN ? ' ' : block[i];
	return sum;
}

void tar_write(const char *name, uint64_t size, uint8_t ret[TAR_BLOCK])
{
	char *text = (char *)ret;

	memset(ret, 0, TAR_BLOCK);
	snprintf(text + NAME, NAME_LEN, "%s", name);
	memcpy(text + MODE, "0000644", 8);
	memcpy(text + OWNER, "0000000", 8);
	memcpy(text + GROUP, "0000000", 8);
	snprintf(text + SIZE, SIZE_LEN, "%011llo",
		 (unsigned long long)size & 077777777777ull);
	snprintf(text + TIME, SIZE_LEN, "%011llo", TAR_TIME);
	text[TYPE] = '0';
	memcpy(text + MAGIC, "ustar\0" "00", 8);
	snprintf(text + CHECK, CHECK_LEN - 1, "%06o", check_of(ret) & 0777777);
	text[CHECK + 7] = ' ';
}

/* Reads octal digits up to a NUL or blank, after leading blanks. */
static int read_octal(const uint8_t *field, size_t len, uint64_t *ret)
{
	size_t at = 0;
	uint64_t v = 0;

	while (at < len && field[at] == ' ')
		at++;
	if (at == len || field[at] < '0' || field[at] > '7')
		return -EINVAL;
	for (; at < len && field[at] >= '0' && field[at] <= '7'; at++)
		v = v << 3 | (uint64_t)(field[at] - '0');
	if (at < len && field[at] != '\0' && field[at] != ' ')
		return -EINVAL;
	*ret = v;
	return 0;
}

int tar_read(const uint8_t block[TAR_BLOCK], const char *name,
	     uint64_t *ret_size, struct err *err)
{
	uint64_t check;
	char found[NAME_LEN + 1];

	if (memcmp(block + MAGIC, "ustar", MAGIC_LEN) != 0 ||
	    read_octal(block + CHECK, CHECK_LEN, &check) < 0 ||
	    check != check_of(block))
		return err_set(err, -EBADMSG, "there is no header of a tar "
			       "where %s should begin", name);
	memcpy(found, block + NAME, NAME_LEN);
	found[NAME_LEN] = '\0';
	for (char *p = found; *p; p++)
		if (*p < 0x20 || *p >= 0x7f)
			*p = '?';
	if (strcmp(found, name) != 0 || block[PREFIX])
		return err_set(err, -EBADMSG, "it has \"%s\" where \"%s\" "
			       "should be; manifest, lock.json, warm.json, "
			       "recipe.json and layer.erofs are allowed, in "
			       "this order", found, name);
	if (block[TYPE] != '0' && block[TYPE] != '\0')
		return err_set(err, -EBADMSG, "%s is no plain file in it; links "
			       "and others are not allowed", name);
	/* larger sizes use base 256, which is refused */
	if (read_octal(block + SIZE, SIZE_LEN, ret_size) < 0)
		return err_set(err, -EBADMSG, "the size of %s is not octal",
			       name);
	return 0;
}
