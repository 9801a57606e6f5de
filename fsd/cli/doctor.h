/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of fsd doctor: each reports what was found and, for a problem, the remedy. */
#ifndef FSD_DOCTOR_H
#define FSD_DOCTOR_H

#include <stdbool.h>

#include "vm/vm.h"

enum verdict { GOOD, POOR, BAD };

struct finding {
	enum verdict verdict;
	char text[1600]; /* what was found; for POOR and BAD also the remedy */
};

void found(struct finding *f, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Prints the finding as a line. Return: true if it is bad. */
bool finding_print(const char *name, const struct finding *f);
/* Checks the image that a mount takes by default. */
void check_image(struct finding *f);
/* Checks the QEMU that a mount takes by default. */
void check_qemu(struct finding *f);
/* Tries the program that connects for jobs. policy: the operator's file, NULL: none. */
void check_network(const char *policy, struct finding *f);
/* Finds the QEMU that a mount takes by default. Return: 0 or negative errno. */
int choose_qemu(struct vm_qemu *ret, struct err *err);

/* Reports environments that no machine can have. */
void check_environments(struct finding *f);

/* The warning for a state directory on a network file system: each record waits for
 * fsync(2), and the lock works only between the daemons of one host. */
#define STATE_IS_REMOTE "is on a network filesystem (NFS, SMB, FUSE): a record waits for its " \
			"server, and two hosts may serve one state"

/* doctor_at.c. Return: 0, or 1: something is bad; a sentence for each. */
int doctor_mount(const char *mnt);
int doctor_state(const char *dir);

#endif
