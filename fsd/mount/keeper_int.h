/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by keeper*.c only. */
#ifndef FSD_KEEPER_INT_H
#define FSD_KEEPER_INT_H

#include "vm/os/fdpass.h"
#include "vm/os/spawn.h"
#include "keeper.h"

#define KEEPER_FDS_MAX 2 /* beside an answer */

#endif
