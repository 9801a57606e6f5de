/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes the small files by which the kernel is asked and set, and powers the
 * machine off. The calls keep no state and retry nothing.
 */
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>

#include "layout/base/cleanup.h"

int sys_put(int fd, const char *text)
{
	size_t length = strlen(text);
	ssize_t n = pwrite(fd, text, length, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

int sys_write(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t length = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, length);
	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

int sys_get(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : 0;
}

int sys_read_line(const char *path, char *buf, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = sys_get(fd, buf, size);
	buf[strcspn(buf, "\n")] = '\0';
	return r;
}

uint64_t sys_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

_Noreturn void sys_power_off(const char *reason)
{
	char line[600];

	if (reason) {
		snprintf(line, sizeof(line), "<3>fsd-init: %s\n", reason);
		sys_write("/dev/kmsg", line);
	}
	/*
	 * A microvm has no ACPI to switch it off: a reset ends QEMU, which runs
	 * with -no-reboot. If even that fails, the exit of PID 1 makes the
	 * kernel panic, which also ends QEMU.
	 */
	reboot(RB_AUTOBOOT);
	_exit(1);
}
