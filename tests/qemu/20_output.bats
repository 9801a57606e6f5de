#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Output of real programs: every byte, whatever happens.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

@test "sizes around every buffer's end are exact" {
	local size
	for size in 0 1 4096 65535 65536 65537 999999; do
		prog code.py <<<"import sys; sys.stdout.buffer.write(bytes(i % 251 for i in range($size)))"
		ok
		assert_equal "$(stat -c %s "$MNT/$J/stdout")" $size
		/usr/bin/python3 -c "import sys; sys.stdout.buffer.write(bytes(i % 251 for i in range($size)))" | cmp - "$MNT/$J/stdout"
	done
}

@test "five megabytes on each stream at once are exact" {
	prog code.py <<'PY'
import os, threading
block = bytes(i % 253 for i in range(253 * 1000))
def w(fd):
    left = memoryview((block * 20)[:5000000])
    while left:
        left = left[os.write(fd, left):]
t = [threading.Thread(target=w, args=(fd,)) for fd in (1, 2)]
[x.start() for x in t]; [x.join() for x in t]
PY
	ok
	/usr/bin/python3 -c "import sys; sys.stdout.buffer.write((bytes(i % 253 for i in range(253 * 1000)) * 20)[:5000000])" >"$BATS_TEST_TMPDIR/want"
	cmp "$BATS_TEST_TMPDIR/want" "$MNT/$J/stdout"
	cmp "$BATS_TEST_TMPDIR/want" "$MNT/$J/stderr"
}

@test "bytes of every kind pass unchanged, from every language" {
	prog code.py <<<'import sys; sys.stdout.buffer.write(bytes(range(256)) + b"\r\n\r\0\x1b[0m")'
	ok
	/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)) + b"\r\n\r\0\x1b[0m")' | cmp - "$MNT/$J/stdout"
	prog code.js <<<'process.stdout.write(Buffer.from([...Array(256).keys()]))'
	ok
	/usr/bin/python3 -c 'import sys; sys.stdout.buffer.write(bytes(range(256)))' | cmp - "$MNT/$J/stdout"
	prog code.sh <<<"printf '\\x00\\xff\\r\\n'"
	printf '\0\xff\r\n' | cmp - "$MNT/$J/stdout"
}

@test "a character of many bytes across every read boundary stays whole" {
	prog code.py <<'PY'
import sys
for pad in (4095, 8191, 65535):
    sys.stdout.write("x" * pad + "€🙂é日" * 3 + "\n")
PY
	ok
	/usr/bin/python3 -c 'import sys
for pad in (4095, 8191, 65535):
    sys.stdout.write("x" * pad + "€🙂é日" * 3 + "\n")' | cmp - "$MNT/$J/stdout"
}

@test "node's large writes are complete at the end and before process.exit" {
	prog code.js <<<'process.stdout.write("y".repeat(3000000)); process.on("exit", () => {})'
	ok
	assert_equal "$(stat -c %s "$MNT/$J/stdout")" 3000000
	prog code.js <<<'for (let i = 0; i < 20000; i++) console.log(i); process.exit(3)'
	ended "$J" 3 exited
	assert_equal "$(tail -n 1 "$MNT/$J/stdout")" 19999
}

@test "output arrives while the program runs, line by line" {
	job_made code.py <<'PY'
import sys
print("first", flush=True)
sys.stdin.read()
import time; time.sleep(600)
PY
	job_put "$J" config.json '{}'
	job_follow "$J" first
	state_is "$J" running
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" 30
	ended "$J" 137 cancelled
}

@test "past its limit output is dropped and counted, the program runs on" {
	prog code.py '{"stdout_limit": 1000000, "stderr_limit": 10}' <<'PY'
import sys, os
for _ in range(120): os.write(1, b"x" * 10000)
os.write(2, b"y" * 25)
sys.exit(7)
PY
	ended "$J" 7 exited
	assert_equal "$(stat -c %s "$MNT/$J/stdout")" 1000000
	result_is "$J" .stdout.dropped 200000
	assert_equal "$(stat -c %s "$MNT/$J/stderr")" 10
	result_is "$J" .stderr.dropped 15
}

@test "endless output ends at the timeout and hurts nobody" {
	local before
	before=$(daemon_rss_kb)
	prog code.sh '{"timeout": '"$(patient 800)"', "stdout_limit": 1000000}' <<<'yes'
	ended "$J" 124 timeout
	assert_equal "$(stat -c %s "$MNT/$J/stdout")" 1000000
	[ $(($(daemon_rss_kb) - before)) -lt 32768 ]
}

@test "what was written right before a kill by the program itself is kept" {
	prog code.py <<<'import os; os.write(1, b"k" * 60000); os.kill(os.getpid(), 9)'
	ended "$J" 137 signaled
	assert_equal "$(stat -c %s "$MNT/$J/stdout")" 60000
}

@test "a child's last words after its parent's are not lost while the parent lives" {
	prog code.sh <<<'(sleep 0.2; echo child) & wait; echo parent'
	ok $'child\nparent'
}

@test "results cannot be forged by what is printed" {
	prog code.py <<'PY'
import os, sys
for fd in range(3, 64):
    for text in (b'{"exit_code":0,"status":"exited"}\n', b"\x07" * 64):
        try: os.write(fd, text)
        except OSError: pass
print('{"schema": 1, "exit_code": 0, "status": "exited", "value": "forged"}')
for p in ("/dev/fd/3", "/proc/1/fd/3", "/proc/1/fd/1", "/dev/hvc0", "/dev/console", "/dev/vport0p1", "/dev/vport1p1", "/dev/virtio-ports/fsd", "/dev/mem", "/dev/kmsg"):
    try:
        open(p, "wb", buffering=0).write(b"forged"); print("OPEN", p)
    except OSError: pass
for pid in os.listdir("/proc"):
    if pid.isdigit():
        try: # it may end meanwhile
            if os.stat("/proc/" + pid).st_uid == os.getuid(): continue
            for fd in os.listdir("/proc/%s/fd" % pid):
                os.open("/proc/%s/fd/%s" % (pid, fd), os.O_WRONLY); print("OPEN", pid, fd)
        except OSError: pass
sys.exit(33)
PY
	ended "$J" 33 exited
	result_is "$J" .value null
	run out
	refute_output --partial OPEN
}

@test "output that is only on one stream leaves the other there and empty" {
	prog code.py <<<'import sys; print("e", file=sys.stderr)'
	ok ''
	stderr_is "$J" e
}
