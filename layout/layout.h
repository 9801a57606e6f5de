/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of layout/: includes the headers for other folders. Pure: no I/O, no
 * descriptors, no clock, no threads.
 */
#ifndef LAYOUT_LAYOUT_H
#define LAYOUT_LAYOUT_H

#include "layout/base/buf.h"
#include "layout/base/cleanup.h"
#include "layout/base/dots.h"
#include "layout/base/err.h"
#include "layout/base/health.h"
#include "layout/base/inbox.h"
#include "layout/base/list.h"
#include "layout/base/log.h"
#include "layout/base/num.h"
#include "layout/base/proc_status.h"
#include "layout/base/utf8.h"
#include "layout/base/version.h"
#include "config.h"
#include "config_merge.h"
#include "environment.h"
#include "event_line.h"
#include "json_prefix.h"
#include "lang.h"
#include "limits.h"
#include "nearest.h"
#include "result.h"
#include "result_brief.h"
#include "state.h"
#include "tree.h"

#endif
