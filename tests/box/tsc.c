/* SPDX-License-Identifier: Apache-2.0 */
/* Says how fast this host's counter runs, in kHz: the box's kernel is told, for
 * what it would measure is wrong on a busy host. */
#include <stdio.h>
#include <time.h>

#include "vm/qemu/host.h"

int main(void)
{
	struct timespec apart = { .tv_nsec = 200 * 1000 * 1000 };
	struct host_cpu cpu;

	host_cpu(&cpu);
	nanosleep(&apart, NULL);
	printf("%u\n", host_tsc_khz(&cpu));
	return 0;
}
