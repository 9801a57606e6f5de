#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fork, threads, subprocesses and what they leave.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "Python: subprocess, pipes, shell and check_output" {
	prog code.py <<'PY'
import subprocess
print(subprocess.run(["echo", "hi"], capture_output=True, text=True).stdout, end="")
print(subprocess.check_output("seq 3 | tac | head -n1", shell=True, text=True), end="")
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(p.communicate(b"through")[0].decode(), subprocess.call(["sh", "-c", "exit 7"]))
subprocess.run(["echo", "inherited"])
PY
	ok $'hi\n3\nthrough 7\ninherited'
}

@test "Python: multiprocessing by fork, spawn and forkserver, Pool and shared memory" {
	prog code.py '{"timeout": 110}' <<'PY'
import multiprocessing as mp, os
def square(x): return x * x
def child(q): q.put("child")
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        c = mp.get_context(method)
        q = c.Queue(); p = c.Process(target=child, args=(q,)); p.start()
        print(method, q.get(), flush=True); p.join()
        with c.Pool(2) as pool: print(pool.map(square, range(5)), flush=True)
    from multiprocessing import shared_memory
    s = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 7; print(s.buf[0]); s.close(); s.unlink()
    print(os.path.isdir("/dev/shm"))
PY
	ok "$(printf '%s\n' 'fork child' '[0, 1, 4, 9, 16]' 'spawn child' '[0, 1, 4, 9, 16]' 'forkserver child' '[0, 1, 4, 9, 16]' 7 True)"
}

@test "Python: a fork's child has its own code, exception and tail" {
	prog code.py <<'PY'
import os, sys
def fork(f):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0: f()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(fork(lambda: sys.exit(42)), fork(lambda: os._exit(99)))
def boom(): raise ValueError("in the child")
print(fork(boom), fork(lambda: os.kill(os.getpid(), 9)))
pid = os.fork()
if pid: os.waitpid(pid, 0)
print("tail", "parent" if pid else "child")
PY
	ended "$J" 0 exited
	run out
	assert_line '42 99'
	assert_line '1 -9'
	assert_line 'tail child'
	assert_line 'tail parent'
	assert_equal "$(grep -c tail "$MNT/$J/stdout")" 2
	run cat "$MNT/$J/stderr"
	assert_output --partial 'in the child'
	result_is "$J" .error null
}

@test "Python: concurrent.futures, os.posix_spawn, os.pipe and signals to a child" {
	prog code.py <<'PY'
import concurrent.futures as cf, os, signal, subprocess, errno
def f(x): return x + 1
if __name__ == "__main__":
    with cf.ThreadPoolExecutor() as e: print(list(e.map(f, range(3))))
    with cf.ProcessPoolExecutor(2) as e: print(list(e.map(f, range(3))))
    r, w = os.pipe(); os.write(w, b"p"); print(os.read(r, 9))
    p = subprocess.Popen(["sleep", "600"]); p.kill(); print(p.wait())
    os.kill(os.getpid(), 0)
    try: os.kill(99999, 0)
    except OSError as e: print(errno.errorcode[e.errno])
PY
	ok "$(printf '%s\n' '[1, 2, 3]' '[1, 2, 3]' "b'p'" -9 ESRCH)"
}

@test "JavaScript: child_process, worker_threads and cluster-like fork" {
	prog code.js '{"timeout": 100}' <<'JS'
const { execFileSync, fork } = require("child_process");
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (process.argv[2] === "child") { process.send("from child"); process.disconnect(); }
else {
  console.log(execFileSync("echo", ["hi"]).toString().trim());
  const w = new Worker("require('worker_threads').parentPort.postMessage(5)", { eval: true });
  w.on("message", m => { console.log("worker", m);
    const c = fork(__filename, ["child"]); c.on("message", m => console.log(m)); });
}
JS
	ok $'hi\nworker 5\nfrom child'
}

@test "bash: pipelines, jobs, coprocesses, wait" {
	prog code.sh <<'SH'
coproc cat
echo through >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"
(exit 5) & wait $! ; echo $?
set -o pipefail; false | true; echo $?
set +o pipefail; yes | head -n 2 | wc -l
SH
	ok $'through\n5\n1\n2'
}

@test "what is left in the background does not hold the end, and dies" {
	prog code.sh <<<$'sleep 600 &\nsetsid nohup sleep 600 > /dev/null 2>&1 &\necho done'
	ok 'done'
	[ "$(result "$J" .usage.wall_ms)" -lt $((10000 * SLOW)) ]
	prog code.py <<<$'import subprocess\nsubprocess.Popen(["sleep", "600"])\nprint("done")'
	ok 'done'
	[ "$(result "$J" .usage.wall_ms)" -lt $((10000 * SLOW)) ]
}

@test "what still writes at the program's end may finish: tee, a function as a filter, side files" {
	prog code.sh <<<$'exec > >(tee build.log) 2>&1\necho one\necho two'
	ok $'one\ntwo'
	assert_equal "$(cat "$MNT/$J/output/build.log")" $'one\ntwo'
	prog code.sh <<'SH'
log() { while IFS= read -r l; do printf '[x] %s\n' "$l"; done; }
{ echo one; echo two; } > >(log)
exit 3
SH
	ended "$J" 3 exited
	stdout_is "$J" $'[x] one\n[x] two'
	prog code.sh '{"linger": 60}' <<'SH'
seq 1 2000 | tee >(wc -l > count.txt) >(sort -rn 2>&1 | head -1 > max.txt) > all.txt
(exec <&- >&- 2>&-; exec >late.txt; sleep 0.2; echo late) &
until [ -e late.txt ]; do :; done # it writes once it has the file open
echo counted
SH
	ok counted
	assert_equal "$(cat "$MNT/$J"/output/{count,max,late}.txt)" $'2000\n2000\nlate'
	run cat "$MNT/$J/log"
	refute_output --partial 'still ran'
	prog code.ts <<<'console.log(1 as number)'
	ok 1
	run cat "$MNT/$J/log"
	refute_output --partial 'still ran'
}

@test "linger and timeout bound what is left, which changes no code, and log counts it" {
	prog code.sh '{"linger": 0.2}' <<<$'sleep 600 &\nexec 3>held; sleep 600 >/dev/null 2>&1 &\nexit 4'
	ended "$J" 4 exited
	run cat "$MNT/$J/log"
	assert_output --partial '2 processes of the program still ran'
	prog code.sh '{"linger": 60, "timeout": '"$(patient 1000)"'}' <<<$'sleep 600 &\necho x'
	ended "$J" 0 exited
	stdout_is "$J" x
	run cat "$MNT/$J/log"
	assert_output --partial 'timeout: SIGKILL'
	# Who holds nothing is not waited for.
	prog code.sh '{"linger": 60}' <<<$'setsid sleep 600 <&- >/dev/null 2>&1 &\necho x'
	ok x
	run cat "$MNT/$J/log"
	refute_output --partial timeout
	assert_output --partial '1 process of the program still ran'
}

@test "orphans go to PID 1 and leave no zombies" {
	prog code.py <<'PY'
import os, subprocess, time
for _ in range(30):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
for _ in range(200):
    time.sleep(0.05) # PID 1 has the processor meanwhile
    z = 0
    for p in os.listdir("/proc"):
        if p.isdigit():
            try: z += open("/proc/%s/stat" % p).read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError: pass
    if not z: break
print("zombies", z)
PY
	ok 'zombies 0'
}

@test "a fork bomb meets the limit of processes and nothing else" {
	prog code.py '{"processes": 32, "timeout": 60}' <<'PY'
import os, errno, time
n = 0
try:
    while n < 500:
        if os.fork() == 0: time.sleep(600); os._exit(0)
        n += 1
except OSError as e:
    print(errno.errorcode[e.errno], n < 32, flush=True)
os._exit(0)
PY
	ok 'EAGAIN True'
	prog code.sh '{"processes": 20, "timeout": 3}' <<<':(){ :|:& };:; wait; while :; do :; done 2>/dev/null'
	[ "$(result "$J" .status)" != failed ]
}

@test "threads count as processes" {
	prog code.py '{"processes": 16}' <<'PY'
import threading
e = threading.Event(); n = 0
try:
    while n < 500: threading.Thread(target=e.wait, daemon=True).start(); n += 1
except RuntimeError as x: print("RuntimeError", n < 16)
e.set()
PY
	ok 'RuntimeError True'
}

@test "limits are Debian's: cores and 1048576 files may be allowed, and the scheduler is the usual one" {
	prog code.sh <<'SH'
set -e
echo "$(ulimit -Sc) $(ulimit -Hc) $(ulimit -Sn) $(ulimit -Hn)"
ulimit -c unlimited
ulimit -n 100000
echo "$(ulimit -c) $(ulimit -n)"
bash -c 'kill -ABRT $$' || ls -A
SH
	run out
	assert_line --index 0 '0 unlimited 1024 1048576'
	assert_line --index 1 'unlimited 100000'
	assert_line --index 2 code.sh
	assert_equal "${#lines[@]}" 3
	prog code.py <<'PY'
import os
print(os.sched_getscheduler(0) == os.SCHED_OTHER)
pid = os.posix_spawn("/bin/true", ["true"], os.environ, scheduler=(os.sched_getscheduler(0), os.sched_param(0)))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
	ok $'True\n0'
}

@test "a login shell has read Debian's profile, and starts no program for that" {
	# shellcheck disable=SC2034 # the name of the next job
	N=1 J=t$BATS_TEST_NUMBER.1
	mkdir "$MNT/$J"
	go '{"mode": "command", "command": ["/bin/bash", "-l", "-c",
		"shopt -q login_shell && declare -F gawkpath_append && echo $PATH"]}'
	ok $'gawkpath_append\n/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games'
	[ "$(result "$J" .usage.peak_processes)" = 1 ]
}

@test "limits cannot be raised" {
	prog code.py '{"processes": 32}' <<'PY'
import resource, os
for name in ("RLIMIT_NPROC", "RLIMIT_CORE", "RLIMIT_MEMLOCK"):
    s, h = resource.getrlimit(getattr(resource, name))
    try: resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY,) * 2); print(name, "raised" if h != resource.RLIM_INFINITY else "was unlimited")
    except (ValueError, PermissionError): print(name, "refused")
for f in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/job/memory.max", "/sys/fs/cgroup/job/pids.max", "/proc/sys/kernel/pid_max"):
    try: open(f, "w").write("max"); print("WROTE", f)
    except OSError: pass
PY
	ended "$J" 0 exited
	run out
	refute_output --partial raised
	refute_output --partial WROTE
}

@test "PID 1 survives every signal and the job goes on" {
	prog code.py <<'PY'
import os, signal
for n in range(1, 65):
    for f in (lambda: os.kill(1, n), lambda: signal.pidfd_send_signal(os.pidfd_open(1), n)):
        try: f(); print("SENT", n)
        except (OSError, ValueError): pass
signal.signal(15, signal.SIG_IGN)
try: os.kill(-1, 15)
except OSError as e: print(e)
print("STILL_ALIVE")
PY
	ok STILL_ALIVE
}

@test "who wakes the process that keeps a program's memory gains nothing" {
	# Found as what is there beside this program; woken, it runs a little.
	prog code.py <<'PY'
import os, signal, time
woken = 0
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            os.kill(int(name), signal.SIGSTOP)
            os.kill(int(name), signal.SIGCONT)
            os.kill(int(name), signal.SIGTERM)
            woken += 1
        except OSError:
            pass
time.sleep(0.1)
print(woken > 0, flush=True)
open("made", "w").write("x" * 1000)
PY
	ok True
	run cat "$MNT/$J/output/made"
	assert_output "$(printf 'x%.0s' {1..1000})"
}

@test "memory that a program used before execve is free after it" {
	prog code.py '{"memory_mb": 128}' <<'PY'
import os, sys, time
if len(sys.argv) < 2:
    big = bytearray(80 << 20)
    time.sleep(0.2)
    os.execv(sys.executable, [sys.executable, "-S", __file__, "again"])
print(len(bytearray(80 << 20)))
PY
	ok $((80 << 20))
}
