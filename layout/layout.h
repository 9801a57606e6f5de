/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary's door. Pure: no I/O, no descriptors, no clock, no threads. */
#ifndef LAYOUT_LAYOUT_H
#define LAYOUT_LAYOUT_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dots.h"
#include "base/err.h"
#include "base/inbox.h"
#include "base/list.h"
#include "base/log.h"
#include "base/num.h"
#include "config.h"
#include "event_line.h"
#include "lang.h"
#include "limits.h"
#include "result.h"
#include "state.h"
#include "tree.h"

#endif
