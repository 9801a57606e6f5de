#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Timeouts, signals, memory: how real programs end.

load ../lib/qemu

setup_file() { file_setup --shared 0; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "an endless loop ends at its timeout with what it printed" {
	prog code.py '{"timeout": '"$(patient 600)"'}' <<<$'print("partial", flush=True)\nwhile True: pass'
	ended "$J" 124 timeout
	stdout_is "$J" partial
	run result "$J" .usage.wall_ms
	[ "$output" -ge 550 ] && [ "$output" -le $((6000 * SLOW)) ] || fail "wall_ms $output"
	run cat "$MNT/$J/log"
	assert_output --partial timeout
}

@test "endless loops in JavaScript and bash end too" {
	prog code.js '{"timeout": '"$(patient 1000)"'}' <<<'console.log("partial"); while (true) {}'
	ended "$J" 124 timeout
	stdout_is "$J" partial
	prog code.sh '{"timeout": '"$(patient 500)"'}' <<<'echo partial; while :; do :; done'
	ended "$J" 124 timeout
	stdout_is "$J" partial
}

@test "in the grace a handler may tidy up, and its code is kept apart" {
	prog code.py '{"timeout": '"$(patient 1000)"', "grace": 60}' <<'PY'
import signal, sys, time
def h(*a): print("tidy"); sys.exit(5)
signal.signal(signal.SIGTERM, h)
print("up", flush=True)
time.sleep(600)
PY
	ended "$J" 124 timeout
	result_is "$J" .program_exit_code 5
	stdout_is "$J" $'up\ntidy'
}

@test "who ignores SIGTERM is killed after the grace" {
	prog code.py '{"timeout": '"$(patient 1000)"', "grace": 1}' <<'PY'
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True: time.sleep(1)
PY
	ended "$J" 124 timeout
	run result "$J" .usage.wall_ms
	[ "$output" -ge 1900 ] && [ "$output" -le $((8000 * SLOW)) ] || fail "wall_ms $output"
}

@test "a program that has stopped itself still times out" {
	prog code.py '{"timeout": '"$(patient 1500)"'}' <<<'import os; print("x", flush=True); os.kill(os.getpid(), 19)'
	ended "$J" 124 timeout
	stdout_is "$J" x
}

@test "a tree of processes that ignore signals dies at the timeout" {
	prog code.sh '{"timeout": '"$(patient 2000)"'}' <<'SH'
trap '' TERM INT HUP
sh -c 'trap "" TERM; setsid sleep 600 & sleep 600' &
echo up
while :; do sleep 100; done
SH
	ended "$J" 124 timeout
	stdout_is "$J" up
}

@test "signals: each has its code and its name" {
	local one
	for one in 6:SIGABRT 11:SIGSEGV 15:SIGTERM 9:SIGKILL 8:SIGFPE 13:SIGPIPE; do
		prog code.py <<<"import os, signal
signal.signal(${one%:*}, signal.SIG_DFL) if ${one%:*} != 9 else 0
print('x', flush=True); os.kill(os.getpid(), ${one%:*})"
		ended "$J" $((128 + ${one%:*})) signaled
		result_is "$J" .signal "${one#*:}"
		stdout_is "$J" x
	done
}

@test "a real segfault, abort and node's abort" {
	prog code.py <<<'import ctypes; ctypes.string_at(0)'
	ended "$J" 139 signaled
	prog code.py <<<'import os; os.abort()'
	ended "$J" 134 signaled
	prog code.js <<<'process.abort()'
	ended "$J" 134 signaled
	prog code.sh <<<'kill -SEGV $$'
	ended "$J" 139 signaled
}

@test "ctl signal reaches the program's handler" {
	job_made code.py <<'PY'
import signal, sys
def h(n, f): print("got", signal.Signals(n).name); sys.exit(9)
signal.signal(signal.SIGUSR1, h); signal.signal(signal.SIGINT, h)
print("up", flush=True)
signal.pause()
PY
	job_put "$J" config.json '{}'
	job_follow "$J" up
	echo 'signal INT' >"$MNT/$J/ctl"
	job_wait "$J" 60
	ended "$J" 9 exited
	stdout_is "$J" $'up\ngot SIGINT'
}

@test "KeyboardInterrupt by ctl signal INT" {
	job_made code.py <<<$'import time\nprint("up", flush=True)\ntime.sleep(600)'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	echo 'signal INT' >"$MNT/$J/ctl"
	job_wait "$J" 60
	ended "$J" 130 signaled
	run cat "$MNT/$J/stderr"
	assert_output --partial KeyboardInterrupt
}

@test "ctl interrupt, as Ctrl-C, reaches what the program waits for as well" {
	job_made code.sh <<<$'echo up\nsleep 600\necho end'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	echo interrupt >"$MNT/$J/ctl"
	job_wait "$J" 60
	ended "$J" 130 signaled
	stdout_is "$J" up
	job_made code.py <<<$'import subprocess\nsubprocess.run(["sh", "-c", "echo up; exec sleep 600"])'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	echo interrupt >"$MNT/$J/ctl"
	job_wait "$J" 60
	ended "$J" 130 signaled
	run cat "$MNT/$J/log"
	refute_output --partial 'still ran'
}

@test "ctl kill ends a busy tree at once" {
	job_made code.sh <<<$'trap "" TERM INT\n(while :; do :; done) &\necho up\nwhile :; do :; done'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" 30
	ended "$J" 137 cancelled
}

@test "over its memory: 137, out_of_memory, output kept" {
	prog code.py '{"memory_mb": 64}' <<<$'print("before", flush=True)\nx = []\nwhile True: x.append(bytearray(1 << 20))'
	ended "$J" 137 out_of_memory
	stdout_is "$J" before
	run result "$J" .usage.peak_memory_bytes
	[ "$output" -le $((64 << 20)) ] && [ "$output" -ge $((48 << 20)) ] || fail "peak $output"
}

@test "memory that is allowed is there" {
	prog code.py '{"memory_mb": 256}' <<<'x = bytearray(200 << 20); print(len(x) >> 20)'
	ok 200
	prog code.js '{"memory_mb": 256}' <<<'const b = Buffer.alloc(120 << 20, 1); console.log(b.length >> 20)'
	ok 120
}

@test "a job that needs much memory starts from the template that is there, and may fill it" {
	local made
	made=$(figure fsd_templates_made_total)
	prog code.py '{"memory_mb": 1500, "timeout": 300}' <<<'x = bytearray(1400 << 20); print(len(x) >> 20)'
	ok 1400
	prog code.py '{"memory_mb": 1500, "timeout": 300}' <<<'x = bytearray(1600 << 20); print("not reached")'
	ended "$J" 137 out_of_memory
	assert_equal "$(figure fsd_templates_made_total)" "$made"
}

@test "a child over the memory limit, and /dev/shm and /tmp count as well" {
	prog code.sh '{"memory_mb": 64}' <<<$'python3 -c "x = bytearray(200 << 20)"\necho "code $?"'
	run out
	[ "$status" = 0 ]
	run result "$J" .status
	[ "$output" = out_of_memory ] || assert_equal "$(out)" 'code 137'
	prog code.sh '{"memory_mb": 64}' <<<'head -c 200000000 /dev/zero > /dev/shm/x; echo "code $?"'
	[ "$(result "$J" .status)" = out_of_memory ] || [ "$(out)" != 'code 0' ]
}

# fills DIRECTORY... — Python writes to them in turn, without end.
fills() {
	prog code.py '{"memory_mb": 64, "timeout": 300}' <<-EOF
		import os
		print("before", flush=True)
		files = [os.open(d + "/f", os.O_WRONLY | os.O_CREAT) for d in "$*".split()]
		while True: [os.write(fd, bytes(65536)) for fd in files]
	EOF
	ended "$J" 137 out_of_memory
	stdout_is "$J" before
}

@test "who fills /dev/shm ends of it, though its code can be taken away and read again for ever" {
	fills /dev/shm
}

@test "who fills /tmp, its home and /dev/shm in turn ends of it, too" {
	fills /tmp . /dev/shm
}

@test "Node that fills /dev/shm ends of it, too" {
	prog code.js '{"memory_mb": 96, "timeout": 300}' <<<'const fs = require("fs"), f = fs.openSync("/dev/shm/f", "w"), b = Buffer.alloc(65536); for (;;) fs.writeSync(f, b)'
	ended "$J" 137 out_of_memory
}

@test "who has little memory left and reads more files than fit is not ended" {
	prog code.py '{"memory_mb": 64, "timeout": 300}' <<-'EOF'
		import os
		fd = os.open("/dev/shm/f", os.O_WRONLY | os.O_CREAT)
		for _ in range(44): os.write(fd, bytes(1 << 20))
		for _ in range(2):
		    for top, _, names in os.walk("/usr/lib/python3.13"):
		        for name in names:
		            with open(os.path.join(top, name), "rb") as f: f.read()
		print("worked")
	EOF
	ok worked
}

@test "MemoryError for one absurd request is Python's own affair" {
	prog code.py <<<$'try: x = bytearray(1 << 50)\nexcept MemoryError: print("MemoryError")'
	ok MemoryError
}

@test "a recursion without end is an error of its own, not ours" {
	prog code.py <<<$'def f(): f()\ntry: f()\nexcept RecursionError: print("RecursionError")'
	ok RecursionError
	prog code.js <<<'function f() { f() } try { f() } catch (e) { console.log(e.name) }'
	ok RangeError
	prog code.py <<<$'import sys\nsys.setrecursionlimit(10**7)\ndef f(n): return f(n + 1) + 1\nf(0)'
	[ "$(cat "$MNT/$J/exit_code")" != 0 ]
	[ "$(result "$J" .status)" != failed ]
}

@test "usage says true figures" {
	prog code.py <<'PY'
import time
x = bytearray(40 << 20)
end = time.process_time() + 0.5
while time.process_time() < end: pass
PY
	ok
	# how it is divided is by what each tick of the clock came upon
	[ "$(result "$J" '.usage.user_ms + .usage.system_ms')" -ge 450 ]
	[ "$(result "$J" .usage.wall_ms)" -ge 450 ]
	[ "$(result "$J" .usage.peak_memory_bytes)" -ge $((40 << 20)) ]
	[ "$(result "$J" .usage.peak_processes)" -ge 1 ]
}

@test "the machine after a kill, a crash or no memory left is another one" {
	prog code.sh '{"timeout": '"$(patient 1000)"'}' <<<'touch /tmp/mark; sleep 600'
	ended "$J" 124 timeout
	prog code.sh <<<'ls /tmp/mark 2>&1; ps ax 2>/dev/null | grep -c "sleep 600" ; echo fine'
	run out
	assert_output --partial fine
	refute_output --regexp '^/tmp/mark$'
}

@test "the time of a short run is its own, not that of its telling" {
	prog code.py <<<'import time; time.sleep(0.008)'
	ok
	run result "$J" '.timing.run_ms >= 8 and .timing.run_ms <= .timing.total_ms'
	assert_output true
	# what the machine measured, though it tells its start with its end
	prog code.py <<<'pass'
	ok
	run result "$J" '.timing.run_ms >= .usage.wall_ms - 1'
	assert_output true
}

@test "the memory of a small program is told without what warmed its interpreter" {
	local one
	for one in 'code.js:console.log(1):32' 'code.ts:console.log(1):40' \
		'code.py:print(1):14' 'code.sh:echo 1:8'; do
		prog "${one%%:*}" <<<"$(cut -d: -f2 <<<"$one")"
		ok 1
		run result "$J" .usage.peak_memory_bytes
		[ "$output" -gt 65536 ] && [ "$output" -lt $((${one##*:} << 20)) ] ||
			fail "$one: peak $output"
	done
	prog code.js '{"memory_mb": 80}' <<<'const b = Buffer.alloc(50 << 20, 1); console.log(b[9])'
	ok 1
	run result "$J" .usage.peak_memory_bytes
	[ "$output" -ge $((50 << 20)) ] && [ "$output" -le $((80 << 20)) ] || fail "peak $output"
}

@test "a Node program may fill its memory_mb, and is told when that is over" {
	prog code.js '{"memory_mb": 640, "timeout": 110}' <<<'const a = []; for (let n = 0; n < 540; n++) a.push(new Array(131072).fill(n + 0.5)); console.log(a.length)'
	ok 540
	prog code.js '{"memory_mb": 100}' <<<'const a = []; for (;;) a.push(new Array(131072).fill(0.5))'
	ended "$J" 137 out_of_memory
}
