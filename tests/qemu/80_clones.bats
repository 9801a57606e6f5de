#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Machines are clones of one template, or of one zygote: what they must not
# share. The file has two names: see forked().

load ../lib/qemu

setup_file() { file_setup --fork no --pool 0; }
teardown_file() { file_teardown; }
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
}

# heated — the rest of the test has machines that were heated before their job came,
# as a zygote has been. A cold one has its clock 45 ms late, since it reads its first
# message that slowly.
heated() {
	forked && return
	own_mount
	MOUNT_OPTIONS=${MOUNT_OPTIONS/--pool 0/} mount_start --pool 2 --heat quick
	at_rest
}

# differ FILE — the program's lines, from three machines of which two run at
# the same time, are all different.
differ() {
	local program line a b
	program=$(cat)
	for N in 0 1; do
		job_made "$1" <<<"$program"
		job_put "$J" config.json '{}'
	done
	N=2
	job_made "$1" <<<"$program"
	for a in 1 2; do
		job_wait "t$BATS_TEST_NUMBER.$a" $JOB_SECONDS >/dev/null
	done
	go
	local t=$MNT/t$BATS_TEST_NUMBER
	for a in 1 2 3; do
		[ "$(cat "$t.$a/exit_code")" = 0 ] || fail "$(cat "$t.$a/stderr")"
		[ -s "$t.$a/stdout" ]
	done
	for a in 1:2 1:3 2:3; do
		b=${a#*:} a=${a%:*}
		run comm -12 <(sort "$t.$a/stdout") <(sort "$t.$b/stdout")
		assert_output ''
	done
}

@test "the kernel's random numbers: urandom, getrandom, uuid, boot id is no matter" {
	differ code.sh <<<'head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/random/uuid; echo mktemp $(mktemp -u XXXXXXXXXX)'
}

@test "Python: random, secrets, uuid, tempfile, numpy-free seeds" {
	differ code.py <<'PY'
import random, secrets, uuid, tempfile, os, ssl, string
print("random", random.random()); print("randint", random.getrandbits(64))
print("secrets", secrets.token_hex()); print("uuid4", uuid.uuid4()); print("uuid1", uuid.uuid1())
print("temp", tempfile.mktemp()); print("os", os.urandom(8).hex()); print("ssl", ssl.RAND_bytes(8).hex())
print("more", *random.choices(string.ascii_letters, k=9), random.gauss(0, 1), random.shuffle(list(range(99))) or random.random())
print("spawn", __import__("subprocess").check_output(["python3", "-c", "import random; print(random.random())"]).decode().strip())
print("own", random.Random().random()); print("system", random.SystemRandom().random())
PY
}

@test "Python: the hash of a string is the template's, or the job's own when it says so" {
	prog code.py <<<'print(hash("x"))'
	ok
	local first
	first=$(out)
	prog code.py <<<'print(hash("x"))'
	ok "$first"
	prog code.py '{"env": {"PYTHONHASHSEED": "random"}}' <<<'print(hash("x"))'
	ok
	refute [ "$(out)" = "$first" ]
	grep -q '^hash-secret  degraded  ' "$MNT/.fsd/security"
}

@test "JavaScript: Math.random, crypto, uuid" {
	differ code.js <<'JS'
const c = require("crypto");
console.log("math", Math.random()); console.log("bytes", c.randomBytes(16).toString("hex"));
console.log("uuid", c.randomUUID()); console.log("web", c.webcrypto.getRandomValues(new Uint32Array(4)).join());
console.log("int", c.randomInt(2 ** 47));
JS
}

@test "TypeScript and ES modules: Math.random and crypto" {
	differ code.ts <<<'import { randomBytes } from "crypto"; const x: number = Math.random(); console.log("m", x); console.log("b", randomBytes(8).toString("hex"))'
	N=0
	rm -rf "$MNT/t$BATS_TEST_NUMBER".*
	differ code.mjs <<<'import { randomUUID } from "crypto"; console.log("m", Math.random()); console.log("u", randomUUID())'
}

@test "bash: RANDOM, SRANDOM" {
	differ code.sh <<<'echo "r $RANDOM$RANDOM$RANDOM"; echo "s $SRANDOM"'
}

@test "the processor's random numbers: RDRAND, RDSEED" {
	differ code.py <<'PY'
import ctypes, mmap
def call(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_uint64)(at)()
print("rdrand", [hex(call(b"\x48\x0f\xc7\xf0\xc3")) for _ in range(4)])
print("rdseed", [hex(call(b"\x48\x0f\xc7\xf8\xc3")) for _ in range(4)])
PY
}

@test "the machine id" {
	differ code.sh <<<'cat /etc/machine-id'
}

@test "addresses of an executed program" {
	differ code.sh <<<'for i in 1 2 3; do grep -m1 stack /proc/self/maps; done | cut -d- -f1 | sort -u | head -n1'
}

@test "the clock is the host's within 50 ms of the moment it was read" {
	local before after
	heated
	job_made code.py <<<$'import time\nprint(time.time_ns(), flush=True)\nprint(time.time_ns(), flush=True)'
	before=$(date +%s%N)
	go
	after=$(date +%s%N)
	ok
	local one
	while read -r one; do
		[ "$one" -ge $((before - 50000000)) ] || fail "behind by $(((before - one) / 1000000)) ms"
		[ "$one" -le $((after + 50000000)) ] || fail "ahead by $(((one - after) / 1000000)) ms"
	done <"$MNT/$J/stdout"
	# Nearer: the moment at which a line arrived here. A busy host only adds
	# to it, so the best of many lines counts, and of a few jobs.
	local best=999999 line now
	for _ in 1 2 3 4; do
		job_made code.py <<<$'import time\nfor _ in range(20): print(time.time_ns(), flush=True); time.sleep(0.05)'
		job_put "$J" config.json '{}'
		while read -r line; do
			now=${EPOCHREALTIME/./}000
			now=$(((now - line) / 1000000))
			[ ${now#-} -ge ${best#-} ] || best=$now
		done <"$MNT/$J/stdout.follow"
		[ "${best#-}" -gt 50 ] || break
	done
	echo "# the guest's clock against ours: $best ms" >&3
	[ "${best#-}" -le 50 ] || fail "the clocks differ by $best ms"
}

@test "time goes on evenly and never back" {
	prog code.py <<'PY'
import time
# A busy host only adds to a sleep, so the best of some counts.
best = (9, 9, 9)
for _ in range(20):
    a, m = time.time(), time.monotonic()
    time.sleep(0.5)
    b, n = time.time(), time.monotonic()
    assert b - a > 0.49 and n - m > 0.49, (b - a, n - m)
    best = min(best, (abs((b - a) - (n - m)), b - a, n - m))
    if best[0] < 0.05 and best[1] < 0.8 and best[2] < 0.8: break
print(best[1] < 0.8, best[2] < 0.8, best[0] < 0.05)
last = 0
for _ in range(20000):
    t = time.monotonic_ns()
    assert t >= last
    last = t
PY
	ok 'True True True'
	prog code.js <<<'const d = Date.now(); console.log(new Date().getFullYear() >= 2025, performance.now() >= 0)'
	ok 'true true'
	prog code.sh <<<'date +%s'
	run bash -c "echo \$(($(date +%s) - $(out)))"
	[ "$output" -ge -2 ] && [ "$output" -le 30 ] || fail "date differs by $output s"
}

@test "nothing of the template's or of another job's output is in a job's" {
	local i
	for i in 1 2 3; do
		prog code.py <<<'pass'
		ok ''
		assert_equal "$(cat "$MNT/$J/stderr")" ''
		result_is "$J" '.output | length' 0
	done
}

@test "nothing of an earlier job is in a later one" {
	prog code.sh '{"env": {"MARK": "x"}}' <<<'echo x > /tmp/mark; echo x > mark; echo x > /dev/shm/mark'
	ok
	prog code.sh <<<'ls -A /tmp; ls -A /dev/shm; ls -A | grep -v code.sh; env | grep MARK'
	assert_equal "$(out)" ''
}

@test "a program finds nothing of those that were rehearsed, and draws its own numbers" {
	heated
	differ code.ts <<<'console.log(Math.random(), require("crypto").randomUUID())'
	prog code.ts <<'TS'
const known: string[] = Object.keys(require.cache);
const found = Object.keys((require('module') as any)._pathCache);
console.log(known.join(), require.main === module, require.main!.children.length);
console.log(found.filter((key: string) => key.includes('/dev/shm')).length);
console.log(require('fs').readdirSync('/dev/shm').length);
TS
	ok $'/home/user/code.ts true 0\n0\n0'
}

@test "many machines at once have no cross-talk" {
	local i
	for i in 1 2 3 4 5 6 7 8 9 10; do
		# shellcheck disable=SC2034 # the name of the next job
		N=$((i - 1))
		job_made code.py <<<"import sys, time
for k in range(20): print('$i', k, flush=True)
print(sys.stdin.read()); open('f', 'w').write('$i'); sys.exit($i)"
		echo "input $i" >"$MNT/$J/stdin"
		job_put "$J" config.json '{"timeout": 120}'
	done
	for i in 1 2 3 4 5 6 7 8 9 10; do
		J=t$BATS_TEST_NUMBER.$i
		job_wait "$J" $JOB_SECONDS >/dev/null
		ended "$J" "$i" exited
		assert_equal "$(out)" "$(printf "$i %s\n" {0..19}; echo "input $i")"
		assert_equal "$(cat "$MNT/$J/output/f")" "$i"
	done
}
