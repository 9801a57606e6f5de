#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What Python prints is seen while the program runs, and is what it would have been.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

# seen TEXT — $J has written that, and has not ended.
seen() {
	await becomes 60 grep -qx "$1" "$MNT/$J/stdout"
	[ ! -e "$MNT/$J/exit_code" ] || fail "it has ended"
}

# begun CONFIG <PROGRAM — begins it.
begun() {
	job_made code.py
	job_put "$J" config.json "$1"
}

# bats test_tags=smoke
@test "Python: what is printed is seen while the program sleeps, computes and waits" {
	local how
	for how in 'time.sleep(900)' 'while True: pass' 'os.read(os.pipe()[0], 1)' \
		'threading.Event().wait()' 'sys.stdout.write("more"); time.sleep(900)'; do
		begun '{"timeout": 900}' <<<"import os, sys, time, threading; print('printed')
$how"
		seen printed
		echo kill >"$MNT/$J/ctl"
		job_wait "$J" $JOB_SECONDS >/dev/null
	done
	begun '{"timeout": 900}' <<<"import time; print('no end', end=''); time.sleep(900)"
	await becomes 60 grep -q 'no end' "$MNT/$J/stdout"
	echo kill >"$MNT/$J/ctl"
}

@test "Python: what is printed is seen in a session, in a child and behind another stream" {
	begun '{"timeout": 900, "session": "live"}' <<<"import time; print('printed'); time.sleep(900)"
	seen printed
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" $JOB_SECONDS >/dev/null
	begun '{"timeout": 900}' <<-'PY'
		import os, time
		print("before")
		if os.fork():
		    os.wait()
		print("child")
		time.sleep(900)
	PY
	seen before
	seen child
	assert_equal "$(grep -c before "$MNT/$J/stdout")" 1
	echo kill >"$MNT/$J/ctl"
	begun '{"timeout": 900}' <<-'PY'
		import io, sys, time
		sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
		print("printed")
		time.sleep(900)
	PY
	seen printed
	echo kill >"$MNT/$J/ctl"
}

@test "Python: nothing that is printed is lost, doubled or out of order" {
	prog code.py '{"timeout": 600}' <<-'PY'
		import os, subprocess, sys, threading, time
		for i in range(30000):
		    print(i)
		    if i % 3000 == 0:
		        time.sleep(0.06)
		sys.stdout.flush()
		subprocess.run(["echo", "child"])
		def work():
		    for i in range(20000):
		        print(f"t{i}\n", end="")
		threads = [threading.Thread(target=work) for _ in range(2)]
		for t in threads: t.start()
		for t in threads: t.join()
		for i in range(3):
		    sys.stdout.write(f"part {i} ")
		    time.sleep(0.08)
		print()
	PY
	ended "$J" 0 exited
	/usr/bin/python3 - "$MNT/$J/stdout" <<-'PY'
		import sys
		lines = open(sys.argv[1]).read().split("\n")
		assert lines[:30000] == [str(i) for i in range(30000)]
		assert lines[30000] == "child"
		assert sorted(lines[30001:70001]) == sorted(2 * [f"t{i}" for i in range(20000)])
		assert lines[70001:] == ["part 0 part 1 part 2 ", ""], lines[70001:]
	PY
}

@test "Python: what a child writes comes behind what was printed before it" {
	prog code.py <<-'PY'
		import os, subprocess, sys
		print("one"); os.system("echo two")
		print("three"); subprocess.run(["echo", "four"])
		print("five"); os.waitpid(os.posix_spawn("/bin/echo", ["echo", "six"], os.environ), 0)
		print("seven", end=""); subprocess.call("echo; echo eight", shell=True)
		if os.fork() == 0:
		    print("nine"); sys.exit()
		os.wait()
		print("ten")
	PY
	ok $'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten'
}

@test "Python: the program sees nothing of what flushes its output" {
	prog code.py '{"processes": 2}' <<-'PY'
		import os, sys, threading, time, warnings
		warnings.simplefilter("always")
		print("first")
		time.sleep(0.2)
		print(threading.active_count(), threading.enumerate() == [threading.main_thread()])
		if os.fork() == 0:
		    os._exit(0)
		print(os.wait()[1])
		class Own:
		    def write(self, text): sys.__stdout__.write(text.upper())
		    def flush(self): os.write(2, b"flushed\n")
		sys.stdout = Own()
		print("own")
		time.sleep(0.2)
		sys.stdout = sys.__stdout__
	PY
	ok $'first\n1 True\n0\nOWN'
	stderr_is "$J" ''
	[ "$(result "$J" .usage.peak_processes)" = 2 ]
}

@test "Python: a standard output that is closed or another one works as it would" {
	prog code.py <<<$'import os, time\nprint("lost"); os.dup2(2, 1); time.sleep(0.2); print("in the other")'
	ended "$J" 0 exited
	prog code.py <<<$'import os, time\nos.close(1); print("x"); time.sleep(0.2)'
	ended "$J" 120 exited
	prog code.py '{"env": {"PYTHONUNBUFFERED": "1"}}' <<<$'import sys, time\nprint("a"); time.sleep(0.1); print("b")'
	ok $'a\nb'
	prog code.py <<<$'import sys, time\nsys.stdout.close(); time.sleep(0.2)'
	ended "$J" 0 exited
}

@test "fifty short steps run in one machine, and cost none each" {
	local before made config='{"session": "p"}'
	prog code.py "$config" <<<'n = 0'
	at_rest # the pool has made a machine for the one that the session took
	before=$(figure fsd_machines_made_total)
	for _ in $(seq 50); do
		prog code.py "$config" <<<'n += 1; print(n)'
	done
	stdout_is "$J" 50
	rmdir "$MNT/.fsd/sessions/p"
	# On a busy host the pool may still make some for itself.
	made=$(($(figure fsd_machines_made_total) - before))
	[ "$made" -le 5 ] || fail "$made machines were made"
}
