/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library that makes a process a zygote, in a program that is no QEMU: its
 * threads wait in every way in which QEMU's do, or compute; then it is forked,
 * and each child is asked whether all of them are there and go on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout/base/num.h"
#include "vm/os/fdpass.h"
#include "vm/jail/jail_pages.h"
#include "vm/zygote/wire.h"
#include "tests/unit/tap.h"

#define PRIVATE_AT 0x200000000ull
#define LIBRARY "build/zygote/fsd-zygote.so"
#define PROGRAM "program"
#define WAIT_MS 10000
#define MANY 40 /* threads */

/* What a library that QEMU has offers, and the zygote's in its place. */
static int draw_random(void)
{
	int (*rnd)(int, void *, size_t), drawn = 0;

	*(void **)&rnd = dlsym(RTLD_DEFAULT, "gnutls_rnd");
	if (!rnd || rnd(0, &drawn, sizeof(drawn)) < 0)
		return -1;
	return drawn & INT32_MAX;
}

/* --- the program: it answers on its monitor's place --------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static int asked, answered; /* under the lock */
static int event, signals;
static char *private_page;
static volatile uint64_t count; /* of the one that computes */
static __thread uint64_t mine;  /* of each thread */

static void *wait_for_condition(void *arg)
{
	int seen = 0;

	mine = (uint64_t)(uintptr_t)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (seen == asked)
			pthread_cond_wait(&told, &lock);
		seen = asked;
		if (mine == (uint64_t)(uintptr_t)arg)
			answered++;
		pthread_cond_broadcast(&told);
	}
	return arg;
}

static void *compute(void *arg)
{
	volatile double one = 1;

	/* In registers that a signal has to keep. */
	for (double sum = 0;; sum += one)
		if (sum >= 1000) {
			count += sum == 1000;
			sum = 0;
		}
	return arg;
}

static void *wait_for_event(void *arg)
{
	struct pollfd p = { .fd = event, .events = POLLIN };
	eventfd_t value;

	for (;;)
		if (poll(&p, 1, -1) == 1 && eventfd_read(event, &value) == 0 &&
		    value >= 100) {
			pthread_mutex_lock(&lock);
			answered += 1000;
			pthread_cond_broadcast(&told);
			pthread_mutex_unlock(&lock);
		}
	return arg;
}

static pthread_t passing; /* it ends when it is told */

static void *end_when_told(void *arg)
{
	pthread_mutex_lock(&lock);
	while (asked >= 0)
		pthread_cond_wait(&told, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

/* One that was there before the fork, and one that was not. */
static int join_threads(void)
{
	pthread_t fresh;
	void *one = NULL, *other = NULL;

	pthread_mutex_lock(&lock);
	asked = -1;
	pthread_cond_broadcast(&told);
	pthread_mutex_unlock(&lock);
	if (pthread_create(&fresh, NULL, end_when_told, (void *)2) ||
	    pthread_join(passing, &one) || pthread_join(fresh, &other))
		return -1;
	return (int)((intptr_t)one + (intptr_t)other);
}

/* Return: as many as are alive; each thread adds one, the event 1000, the one
 * that computes 10000. */
static int roll_call(void)
{
	uint64_t before = count;
	int sum;

	pthread_mutex_lock(&lock);
	answered = 0;
	asked++;
	pthread_cond_broadcast(&told);
	eventfd_write(event, 100);
	while (answered < MANY + 1000)
		pthread_cond_wait(&told, &lock);
	sum = answered;
	pthread_mutex_unlock(&lock);
	while (count == before)
		sched_yield();
	return sum + 10000;
}

static int answered_to(int control)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	struct zygote_answer answer = { 0 };

	if (poll(&p, 1, WAIT_MS) == 1)
		recv(control, &answer, sizeof(answer), 0);
	return answer.pid;
}

static bool holds(const struct zygote_pages *p, uint64_t page)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (page >= p->range[i].at &&
		    page < p->range[i].at + p->range[i].bytes)
			return true;
	return false;
}

static void answer_all(void)
{
	char question;

	while (recv(ARGV_FD_QMP, &question, 1, 0) == 1) {
		int said = -1;

		if (question == 'c')
			said = roll_call();
		else if (question == 'p')
			said = (*private_page)++;
		else if (question == 'i')
			said = (int)getpid();
		else if (question == 's')
			said = fcntl(signals, F_GETFL) & O_NONBLOCK;
		else if (question == 'b')
			said = fcntl(signals, F_SETFL, 0);
		else if (question == 'd')
			said = fcntl(ZYGOTE_FD_CONTROL, F_GETFD) < 0;
		else if (question == 'j')
			said = join_threads();
		else if (question == 'r')
			said = draw_random();
		else if (question == 'u')
			said = (int)getuid();
		if (send(ARGV_FD_QMP, &said, sizeof(said), 0) < 0)
			break;
	}
}

static int be_program(void)
{
	pthread_t thread;
	sigset_t all;

	/* As QEMU does, of its guest's memory. */
	private_page = mmap((void *)PRIVATE_AT, 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			    -1, 0);
	*private_page = 7;
	if (madvise(private_page, 4096, MADV_DONTFORK) < 0)
		return 3;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	signals = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	epoll_create1(EPOLL_CLOEXEC);
	for (uintptr_t i = 1; i <= MANY; i++)
		if (pthread_create(&thread, NULL, wait_for_condition,
				   (void *)i))
			return 4;
	if (pthread_create(&thread, NULL, wait_for_event, NULL) ||
	    pthread_create(&thread, NULL, compute, NULL) ||
	    pthread_create(&passing, NULL, end_when_told, (void *)1))
		return 4;
	answer_all();
	return 0;
}

/* --- the jailer --------------------------------------------------------------------- */

struct child {
	pid_t pid;
	int pidfd, status, monitor;
};

static int ask(const struct child *c, char question)
{
	struct pollfd p = { .fd = c->monitor, .events = POLLIN };
	int said = -2;

	if (send(c->monitor, &question, 1, MSG_NOSIGNAL) != 1 ||
	    poll(&p, 1, WAIT_MS) != 1 ||
	    recv(c->monitor, &said, sizeof(said), 0) != sizeof(said))
		return -3;
	return said;
}

static void pair_of(int type, int *ours, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	*ours = pair[0];
	*theirs = pair[1];
}

static void start_zygote(struct child *z, int *ret_control)
{
	static struct zygote_setup setup = {
		.filter_len = 1,
		.filter = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
	};
	int control, monitor, null;

	pair_of(SOCK_SEQPACKET, ret_control, &control);
	pair_of(SOCK_SEQPACKET, &z->monitor, &monitor);
	send(*ret_control, &setup, sizeof(setup), 0);
	z->pid = fork();
	if (z->pid == 0) {
		/* By way of high numbers: none is lost. */
		control = fcntl(control, F_DUPFD, 100);
		monitor = fcntl(monitor, F_DUPFD, 100);
		null = open("/dev/null", O_RDWR);
		null = fcntl(null, F_DUPFD, 100);
		dup2(control, ZYGOTE_FD_CONTROL);
		dup2(monitor, ARGV_FD_QMP);
		/* A machine has all of these, and a child's replace some. */
		for (int fd = ARGV_FD_QMP + 1; fd <= ARGV_FD_STATE; fd++)
			dup2(null, fd);
		syscall(SYS_close_range, ZYGOTE_FD_CONTROL + 1, ~0u, 0);
		setenv("LD_PRELOAD", LIBRARY, 1);
		execl("/proc/self/exe", "zygote_test", PROGRAM, NULL);
		_exit(126);
	}
	close(control);
	close(monitor);
}

static int order(int control, unsigned long flags, struct child *c)
{
	struct zygote_order order = {
		.what = ZYGOTE_ORDER, .copies = 1, .clone_flags = flags,
		.bounds = { .uid = 65534, .file_bytes = 1 << 20 },
	};
	struct pollfd p = { .fd = control, .events = POLLIN };
	struct zygote_answer answer = { .pid = -1000 };
	int fds[ZYGOTE_ORDER_FDS];
	unsigned n;

	fds[ZYGOTE_ORDER_ERR] = dup(2);
	pair_of(SOCK_SEQPACKET, &c->monitor, &fds[ZYGOTE_ORDER_QMP]);
	fds[ZYGOTE_ORDER_NET] = open("/dev/null", O_RDWR);
	fds[ZYGOTE_ORDER_WIRE] = open("/dev/null", O_RDWR);
	pair_of(SOCK_SEQPACKET, &c->status, &fds[ZYGOTE_ORDER_STATUS]);
	fdpass_send(control, &order, sizeof(order), fds, ZYGOTE_ORDER_FDS, 0);
	for (unsigned i = 0; i < ZYGOTE_ORDER_FDS; i++)
		close(fds[i]);
	if (poll(&p, 1, WAIT_MS) == 1)
		fdpass_receive(control, &answer, sizeof(answer), &c->pidfd, 1,
			       &n, 0);
	c->pid = answer.pid;
	return answer.pid;
}

static void let_go(const struct child *c)
{
	send(c->status, "gg", 1, MSG_NOSIGNAL);
	send(c->status, "gg", 1, MSG_NOSIGNAL);
}

static void end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->monitor);
	close(c->status);
	close(c->pidfd);
}

/* The zygote learns which pages a child has written, and the next child has
 * copies of them before it writes. */
static void test_pages(int control)
{
	static struct zygote_pages first, next;
	struct zygote_pages bad = { .what = ZYGOTE_PAGES, .count = 3 };
	struct child a, b;
	const uint64_t page = PRIVATE_AT;
	uint32_t kib = 0;
	int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	ok(order(control, 0, &a) > 0, "a child to learn from");
	let_go(&a);
	is_int(ask(&a, 'i') > 0, 1, "it runs");
	is_int(jail_pages_read(proc, a.pid, &first), 0, "what it has written is read");
	ok(!holds(&first, page), "a page that it has in common is not of that");
	is_int(ask(&a, 'p'), 7, "it writes to the page");
	is_int(jail_pages_read(proc, a.pid, &first), 0, "that is read again");
	ok(holds(&first, page), "now the page is its own");
	is_int(jail_pages_read_cost(proc, a.pid, &kib), 0,
	       "its memory is counted");
	ok(kib >= 4 && kib < 1 << 20, "that page is of it");
	end(&a);
	send(control, &bad, zygote_pages_size(&bad) - 1, 0);
	is_int(answered_to(control), -EINVAL,
	       "pages that are not all there are no order");
	send(control, &first, zygote_pages_size(&first), 0);
	ok(order(control, 0, &b) > 0, "a child that is told");
	let_go(&b);
	is_int(ask(&b, 'i') > 0, 1, "it runs");
	is_int(jail_pages_read(proc, b.pid, &next), 0, "what is its own is read");
	ok(holds(&next, page), "it has its own page before it writes to it");
	is_int(ask(&b, 'p'), 7, "with what the zygote has there");
	end(&b);
	close(proc);
}

static void test_children(int control)
{
	struct child a, b;

	ok(order(control, CLONE_NEWPID | CLONE_NEWUTS, &a) > 0, "a child");
	ok(order(control, CLONE_NEWPID | CLONE_NEWUTS, &b) > 0, "another");
	let_go(&a);
	let_go(&b);
	is_int(ask(&a, 'c'), MANY + 11000, "all threads of a child go on");
	is_int(ask(&b, 'c'), MANY + 11000, "those of its sibling, too");
	is_int(ask(&a, 'c'), MANY + 11000, "and once more");
	is_int(ask(&a, 'i'), 1, "it is alone in its namespace");
	is_int(ask(&a, 'u'), 65534, "it has its own user");
	is_int(ask(&a, 'p'), 7, "it has the memory that is not for forks");
	is_int(ask(&a, 'p'), 8, "and writes to it");
	is_int(ask(&b, 'p'), 7, "its sibling does not see that");
	is_int(ask(&a, 'b'), 0, "it changes how it waits for signals");
	ok(ask(&b, 's') == O_NONBLOCK, "its sibling does not");
	ok(ask(&a, 'r') > 0, "it can draw random numbers");
	ok(ask(&a, 'r') != ask(&b, 'r'), "its sibling draws others");
	is_int(ask(&a, 'd'), 1, "it cannot speak as the zygote");
	is_int(ask(&a, 'j'), 3, "its threads end, and are waited for");
	end(&a);
	is_int(ask(&b, 'c'), MANY + 11000, "when it has ended the other runs");
	end(&b);
}

/* The jailer that has gone is no jailer: what waits for it ends. */
static void test_ends(int control)
{
	struct child c;
	struct pollfd p = { .events = POLLIN };

	ok(order(control, 0, &c) > 0, "a child that waits for the jailer");
	close(c.status);
	c.status = -1;
	p.fd = c.pidfd;
	is_int(poll(&p, 1, WAIT_MS), 1, "ends when that has gone");
	end(&c);
}

static void test_many(int control)
{
	int good = 0;

	for (int i = 0; i < 100; i++) {
		struct child c;

		if (order(control, CLONE_NEWPID, &c) <= 0)
			break;
		let_go(&c);
		good += ask(&c, 'c') == MANY + 11000;
		end(&c);
	}
	is_int(good, 100, "a hundred children, all whole");
}

static void test_bad_orders(int control)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	struct zygote_answer answer = { 0 };

	send(control, "x", 1, 0);
	poll(&p, 1, WAIT_MS);
	recv(control, &answer, sizeof(answer), 0);
	is_int(answer.pid, -EINVAL, "what is no order is refused");
}

int main(int argc, char **argv)
{
	struct child zygote;
	int control, status;

	if (argc > 1 && !strcmp(argv[1], PROGRAM))
		return be_program();
	if (geteuid() != 0) {
		skip("a jail takes root");
		return done_testing();
	}
	start_zygote(&zygote, &control);
	is_int(ask(&zygote, 'c'), MANY + 11000,
	       "before it is forked it is like any program");
	test_bad_orders(control);
	test_children(control);
	test_pages(control);
	test_many(control);
	test_ends(control);
	close(control);
	ok(waitpid(zygote.pid, &status, 0) == zygote.pid && WIFEXITED(status),
	   "a zygote whose jailer has gone ends");
	return done_testing();
}
