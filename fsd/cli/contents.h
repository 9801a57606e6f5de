/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a person what a guest image contains. */
#ifndef FSD_CLI_CONTENTS_H
#define FSD_CLI_CONTENTS_H

#include <stdbool.h>

#include "layout/layout.h"

/*
 * Says into *out what the image in dir has, as "Debian 13, Python 3.13.5, Node
 * 20.19.2, bash 5.2.37; security updates until 2028-08-09". Its list of packages
 * was verified. *ret_over: that day has gone. Return: 0 or negative errno.
 */
int image_contents(const char *dir, struct buf *out, bool *ret_over);

#endif
