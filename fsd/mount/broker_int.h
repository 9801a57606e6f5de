/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the broker: shared by broker.c and broker_main.c. */
#ifndef FSD_BROKER_INT_H
#define FSD_BROKER_INT_H

#include "vm/os/fdpass.h"
#include "vm/os/spawn.h"
#include "broker.h"

#define BROKER_FDS_MAX 2 /* most descriptors with an answer */

#endif
