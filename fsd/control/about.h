/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about the server process that the mount shows: in .fsd/security and in
 * attributes of its root. The server fills them in before the first request;
 * they do not change afterwards.
 */
#ifndef FSD_ABOUT_H
#define FSD_ABOUT_H

#include <stdbool.h>
#include <sys/types.h>

enum own_wall { OWN_CAPS, OWN_LANDLOCK, OWN_SECCOMP, OWN_WALLS };

/* The rights that the server has given up (restrain.h). */
struct own_walls {
	struct {
		bool active;
		char detail[120];
	} wall[OWN_WALLS];
};

/* The outcome of the last upgrade that a user asked for. */
enum supervisor_upgrade { UPGRADE_NONE, UPGRADE_DONE, UPGRADE_FAILED };

struct about {
	pid_t service; /* pid of the supervisor, our parent */
	/* outcome of the upgrade that led to this server */
	enum supervisor_upgrade upgrade;
	struct own_walls walls;
};

#endif
