/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wall clock that a test sets: preloaded, it adds to CLOCK_REALTIME the
 * seconds that the file FAULT_CLOCK holds (int64_t). The file is mapped before
 * the daemon gives up other files, so that the clock jumps while it runs.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_s;
static int (*real)(clockid_t clock, struct timespec *ret);

__attribute__((constructor)) static void map(void)
{
	const char *path = getenv("FAULT_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, sizeof(*ahead_s), PROT_READ, MAP_SHARED,
				 fd, 0);

	*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	if (at == MAP_FAILED || !real) {
		fprintf(stderr, "clock.so: no clock in FAULT_CLOCK\n");
		_exit(1);
	}
	ahead_s = at;
	close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = real(clock, ret);

	if (r == 0 && clock == CLOCK_REALTIME)
		ret->tv_sec += *ahead_s;
	return r;
}
