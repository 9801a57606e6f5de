#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""inject.py PID CALL [ARG...] - makes a process do one system call.

Stands for a process that is taken over: its next system call becomes CALL with
the arguments (numbers), and is made afterwards. The kernel's filters see it as the process's own.
Prints what came of it: "killed SIGNAL", or the call's result (an errno is
negative). Needs to be root.
"""
import ctypes
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                        ctypes.c_void_p]
ATTACH, DETACH, SYSCALL, GETREGS, SETREGS = 16, 17, 24, 12, 13
WALL = 0x40000000
NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax "
         "rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")
SECONDS = 20


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulong) for name in NAMES]


def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, 0, data) < 0:
        raise OSError(ctypes.get_errno(), "ptrace %d" % request)


def wait(pid):
    """Until it stops or ends; says which signal ended it, or None."""
    status = os.waitpid(pid, WALL)[1]
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    if os.WIFEXITED(status):
        sys.exit("process %d ended" % pid)
    return None


def to_call(pid):
    ptrace(SYSCALL, pid)
    return wait(pid)


def main():
    pid, call = int(sys.argv[1]), int(sys.argv[2])
    signal.alarm(SECONDS)
    ptrace(ATTACH, pid)
    wait(pid)
    # Interrupted in a call: out of it, then into the next one.
    regs = Registers()
    for _ in range(4):
        to_call(pid)
        ptrace(GETREGS, pid, ctypes.addressof(regs))
        # at the entry the result is -ENOSYS
        if regs.rax == 2 ** 64 - 38:
            break
    asked = Registers.from_buffer_copy(regs)
    regs.orig_rax = call
    for name, value in zip(ARGUMENTS, sys.argv[3:]):
        setattr(regs, name, int(value, 0) & (2 ** 64 - 1))
    ptrace(SETREGS, pid, ctypes.addressof(regs))
    # The stop after the call comes even when a filter has ended the process:
    # then there is no further one.
    killed = to_call(pid)
    if killed is None:
        ptrace(GETREGS, pid, ctypes.addressof(regs))
        # What it had asked for it asks again, as if nothing had been.
        asked.rip -= 2
        asked.rax = asked.orig_rax
        ptrace(SETREGS, pid, ctypes.addressof(asked))
        killed = to_call(pid)
    if killed is not None:
        print("killed", signal.Signals(killed).name)
        return
    print(ctypes.c_long(regs.rax).value)
    ptrace(DETACH, pid)


main()
