# posix_spawn takes file actions, signals and the scheduler that is there.
import os
import signal
import subprocess
import sys

print(os.sched_getscheduler(0) == os.SCHED_OTHER)
print(os.sched_getparam(0))
sys.stdout.flush()


def spawn(*argv, **options):
    pid = os.posix_spawn(f"/bin/{argv[0]}", argv, os.environ, **options)
    print(argv, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


spawn("true", scheduler=(os.sched_getscheduler(0), os.sched_param(0)))
spawn("sh", "-c", "echo to a file", file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, "made", os.O_WRONLY | os.O_CREAT, 0o644)])
spawn("sh", "-c", "kill -TERM $$; exit 3", setsigmask=[signal.SIGTERM])
spawn("sh", "-c", "kill -PIPE $$; exit 3", setsigdef=[signal.SIGPIPE])
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
