#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many jobs that wait.

queue.py fill MNT FIRST LAST      makes and submits q FIRST ... q LAST
queue.py measure MNT JOB          medians in microseconds: stat of health, the
                                  state of a job, mkdir to submitted
queue.py empty MNT FIRST LAST     removes them
queue.py at_once MNT HOW COUNT [CONFIG]
                                  so many jobs are completed at the same time;
                                  what each call was answered, what the job is
                                  then, how many
queue.py late MNT JOB FIRST       a close that has failed is followed by its
                                  file's release when FIRST has made room
queue.py promised MNT JOB         a close is answered, the server is killed, and
                                  other jobs want both places in the queue
                                  before the release comes
"""
import collections
import errno
import os
import signal
import socket
import statistics
import sys
import threading
import time


def put(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    os.close(fd)


def submit(mnt, name, program=b"out x\n", config=b"{}"):
    job = os.path.join(mnt, name)
    os.mkdir(job)
    put(job + "/code.sh", program)
    put(job + "/config.json", config)


def remove(mnt, name):
    job = os.path.join(mnt, name)
    os.unlink(job + "/code.sh")
    os.unlink(job + "/config.json")
    os.rmdir(job)


def fill(mnt, first, last):
    for i in range(int(first), int(last) + 1):
        submit(mnt, "q%d" % i)


def empty(mnt, first, last):
    for i in range(int(first), int(last) + 1):
        remove(mnt, "q%d" % i)


def median_us(fn, times=200):
    took = []
    for i in range(times):
        began = time.perf_counter()
        fn(i)
        took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1e6)


def read(path):
    fd = os.open(path, os.O_RDONLY)
    text = os.read(fd, 100)
    os.close(fd)
    return text


def measure(mnt, job):
    health = mnt + "/.fsd/health"
    state = os.path.join(mnt, job, "state")
    figures = (median_us(lambda i: os.stat(health)),
               median_us(lambda i: read(state)),
               median_us(lambda i: submit(mnt, "m%d" % i)))
    for i in range(200):
        remove(mnt, "m%d" % i)
    print(*figures)


# --- the answers -----------------------------------------------------------

def begin(path, data):
    """A file that has yet to be closed."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(fd, data)
    return fd


def prepare(mnt, how, name, config):
    """A job that is complete but for one call. Return: that call."""
    job = os.path.join(mnt, "." + name if how == "submit" else name)
    program = "/tmp" if how == "code" else "/code.sh"
    os.mkdir(job)
    put(job + program, b"out x\n")
    if how == "close":
        fd = begin(job + "/config.json", config)
        return lambda: os.close(fd)
    put(job + ("/tmp" if how == "config" else "/config.json"), config)
    if how == "submit":
        return lambda: os.rename(job, os.path.join(mnt, name))
    if how == "start":
        return lambda: put(job + "/ctl", b"start")
    name = {"code": "/code.sh", "config": "/config.json"}[how]
    return lambda: os.rename(job + "/tmp", job + name)


def answer(call):
    try:
        call()
        return "0"
    except OSError as e:
        return errno.errorcode[e.errno]


def looked_at(job):
    """It is, when the release of its last file was: each has its turn."""
    answer(lambda: put(job + "/ctl", b"nothing"))


def state(mnt, name):
    for job in (os.path.join(mnt, name), os.path.join(mnt, "." + name)):
        if os.path.exists(job):
            looked_at(job)
            return read(job + "/state").decode().strip()
    return "gone"


def at_once(mnt, how, count, config="{}"):
    if how == "start":
        config = '{"start": "manual"}'
    names = ["%s%d" % (how, i) for i in range(int(count))]
    calls = [prepare(mnt, how, name, config.replace("NAME", name).encode())
             for name in names]
    answers = [None] * len(calls)
    all_there = threading.Barrier(len(calls))

    def one(i):
        all_there.wait()
        answers[i] = answer(calls[i])

    threads = [threading.Thread(target=one, args=(i,))
               for i in range(len(calls))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    told = collections.Counter((a, state(mnt, name))
                               for a, name in zip(answers, names))
    for (a, s), n in sorted(told.items()):
        print(a, s, n)


class Sent:
    """A job whose config.json is closed, and open on its way through a socket:
    it is released, and nobody closes it, when that ends."""

    def __init__(self, mnt, name):
        job = os.path.join(mnt, name)
        self.pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        os.mkdir(job)
        put(job + "/code.sh", b"out x\n")
        fd = begin(job + "/config.json", b"{}")
        socket.send_fds(self.pair[0], [b"x"], [fd])
        print("close:", answer(lambda: os.close(fd)))

    def release(self):
        for end in self.pair:
            end.close()


def late(mnt, name, first):
    job = os.path.join(mnt, name)
    sent = Sent(mnt, name)
    put(os.path.join(mnt, first, "ctl"), b"kill")
    for other in os.listdir(mnt):
        if other not in (".fsd", name):
            read(os.path.join(mnt, other, "wait"))
    sent.release()
    print("then:", state(mnt, name))
    print("start:", answer(lambda: put(job + "/ctl", b"start")))


def promised(mnt, name):
    sent = Sent(mnt, name)
    os.kill(int(os.getxattr(mnt, "user.fsd.pid")), signal.SIGKILL)
    submit(mnt, "running", b"out up\nsleep 600000\n")
    with open(mnt + "/running/stdout.follow") as f:
        f.readline()
    submit(mnt, "waiting")
    print("waiting:", state(mnt, "waiting"))
    try:
        submit(mnt, "late")
        print("late: 0")
    except OSError as e:
        print("late:", errno.errorcode[e.errno])
    sent.release()
    print("then:", state(mnt, name))


{"fill": fill, "empty": empty, "measure": measure, "at_once": at_once,
 "late": late, "promised": promised}[sys.argv[1]](*sys.argv[2:])
