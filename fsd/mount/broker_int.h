/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by broker*.c only. */
#ifndef FSD_BROKER_INT_H
#define FSD_BROKER_INT_H

#include "vm/os/fdpass.h"
#include "vm/os/spawn.h"
#include "broker.h"

#define BROKER_FDS_MAX 2 /* beside an answer */

#endif
