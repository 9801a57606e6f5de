#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Many jobs that wait.

queue.py fill MNT FIRST LAST      makes and submits q FIRST ... q LAST
queue.py measure MNT JOB          medians in microseconds: stat of health, the
                                  state of a job, mkdir to submitted
queue.py empty MNT FIRST LAST     removes them
"""
import os
import statistics
import sys
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


{"fill": fill, "empty": empty, "measure": measure}[sys.argv[1]](*sys.argv[2:])
