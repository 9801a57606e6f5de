#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Machines that die, daemons that die, templates that are damaged.

load ../lib/machines

# Machines are killed and templates damaged here.
export LOG_EXPECTED='machines do not start|template|zygote'

setup_file() { file_setup --heat quick; }
teardown_file() { file_teardown; }
teardown() {
	jobs_done
	[ -z "${OWN:-}" ] || mount_done
	case $STATE in /dev/shm/fsd-machines.*) rm -rf "$STATE" ;; esac
}

@test "every process of a machine goes with its job" {
	local before after
	prog code.py <<<'print(1)'
	ok 1
	before=$(machines | wc -l)
	for _ in 1 2 3 4 5; do
		prog code.py <<<'print(1)'
		ok 1
	done
	after=$(machines | wc -l)
	[ "$after" -le $((before + 2)) ] || fail "processes: $before, then $after"
}

@test "a machine whose QEMU is killed is failed at once with a reason, output kept" {
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{"timeout": 100}'
	job_follow "$J" up
	# All of them, to be sure to hit the one; the idle ones are made anew.
	local pid
	for pid in $(machines); do
		kill -KILL "$pid" || true
	done
	job_wait "$J" 20
	ended "$J" 125 failed
	stdout_is "$J" up
	run result "$J" .message
	assert_output --partial 'outcome is unknown: QEMU was killed from outside'
	prog code.py <<<'print("the next one is fine")'
	ok 'the next one is fine'
}

@test "a machine that is stopped from outside fails its job in bounded time" {
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{"timeout": '"$(patient 2000)"'}'
	job_follow "$J" up
	local pid stopped
	stopped=$(machines)
	for pid in $stopped; do
		kill -STOP "$pid"
	done
	job_wait "$J" 60
	for pid in $stopped; do
		kill -CONT "$pid" 2>/dev/null || true
	done
	local code
	code=$(cat "$MNT/$J/exit_code")
	[ "$code" = 124 ] || [ "$code" = 125 ] || fail "exit code $code"
	stdout_is "$J" up
	prog code.py <<<'print("the next one is fine")'
	ok 'the next one is fine'
}

@test "idle machines that were killed are not given out" {
	local pid
	for pid in $(machines); do
		kill -KILL "$pid" || true
	done
	prog code.py <<<'print("fine")'
	ok fine
}

# stopped — every machine is, until they are reaped.
stopped() {
	local pid
	at_rest # one that is being made would only be late
	STOPPED=
	for pid in $(machines); do # one may end by itself meanwhile
		kill -STOP "$pid" && STOPPED="$STOPPED $pid"
	done
	[ -n "$STOPPED" ]
}

@test "idle machines that are frozen are not given out, and their job does not notice" {
	local pid
	stopped
	[ "$(wc -w <<<"$STOPPED")" -ge 2 ]
	job_made code.py <<<'print("fine")'
	job_put "$J" config.json '{}'
	job_wait "$J" 60
	ok fine
	result_is "$J" .message null
	# All of them were asked, and thrown away.
	for pid in $STOPPED; do
		await exit "$pid" 20
	done
	prog code.py <<<'print("and again")'
	ok 'and again'
}

@test "machines that are killed from outside as they start do not cost the template" {
	own_mount
	mount_start --pool 0 --fork no
	killed_at_start 4 KILL
	run cat "$MNT/.fsd/health"
	assert_output --partial 'machines do not start: QEMU was killed from outside (since 20'
	same_template
}

@test "nor do machines that are ended by a signal that QEMU obeys" {
	own_mount
	mount_start --pool 0 --fork no
	killed_at_start 2 HUP
	same_template
	grep -q 'a machine failed to start (2 in a row): QEMU was ended from outside' "$LOG"
}

# memory_group PID — the directory of its control group.
memory_group() {
	local path
	path=$(sed -n 's/^[0-9]*:memory://p' "/proc/$1/cgroup")
	if [ -n "$path" ]; then
		path=/sys/fs/cgroup/memory$path
	else
		path=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	fi
	[ -d "$path" ] || need 'control groups of machines that can be seen'
	echo "$path"
}

# limit_memory GROUP BYTES — "max": none. Refused while somebody who is being
# reaped holds more.
limit_memory() {
	local file=$1/memory.max
	[ -e "$file" ] || file=$1/memory.limit_in_bytes
	[ "$2" != max ] || [ "${file##*.}" = max ] || set -- "$1" -1
	await becomes 30 sh -c 'echo "$1" >"$2"' - "$2" "$file"
}

used_memory() {
	cat "$1/memory.current" "$1/memory.usage_in_bytes" 2>/dev/null
}

@test "a machine that the kernel kills for want of memory ends its job with that reason" {
	local group
	own_mount
	mount_start --pool 0 --fork no
	job_made code.py <<'PY'
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("up", flush=True)
signal.sigwait({signal.SIGUSR1})
x = b"x" * 150000000
print("not reached")
PY
	job_put "$J" config.json '{"timeout": 100}'
	job_follow "$J" up
	group=$(memory_group "$(machines)")
	limit_memory "$group" $(($(used_memory "$group") + 8000000))
	echo 'signal USR1' >"$MNT/$J/ctl"
	job_wait "$J" 60
	ended "$J" 125 failed
	stdout_is "$J" up
	run result "$J" .message
	assert_output --partial 'QEMU was killed from outside: memory ran out on the host'
}

@test "while the host has no memory for machines jobs wait, health says why, and the template stays" {
	local group
	own_mount
	mount_start --pool 0 --fork no
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	group=$(dirname "$(memory_group "$(machines)")")
	rm -r "${MNT:?}/$J"
	limit_memory "$group" 8M
	job_made code.py <<<'print("run at last")'
	job_put "$J" config.json '{}'
	await becomes 60 grep -q 'machines do not start: QEMU was killed from outside: memory ran out' \
		"$MNT/.fsd/health"
	await becomes 60 grep -q 'failed to start (3 in a row)' "$LOG"
	limit_memory "$group" max
	same_template
}

@test "nor does a template suffer when memory cannot be mapped" {
	own_mount
	mount_start --pool 0 --fork no
	prog code.py <<<'print("fine")'
	ok fine
	prlimit --pid "$(jailer)" --as=$((700 << 20)):
	job_made code.py <<<'print("run at last")'
	job_put "$J" config.json '{}'
	await becomes 60 grep -q 'failed to start (3 in a row)' "$LOG"
	run cat "$MNT/.fsd/health"
	assert_output --partial 'Cannot allocate memory'
	prlimit --pid "$(jailer)" --as=unlimited:
	same_template
}

@test "a job whose guest's kernel ends under it, as by a panic, ends at once with that reason, output kept" {
	own_mount
	mount_start --pool 0 --fork no
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{"timeout": 100}'
	job_follow "$J" up
	kernel_ends
	job_wait "$J" 20
	ended "$J" 125 failed
	stdout_is "$J" up
	run result "$J" .message
	assert_output --partial "outcome is unknown: the guest's kernel has ended: a panic"
	prog code.py <<<'print("the next one is fine")'
	ok 'the next one is fine'
	assert_equal "$(figure fsd_templates_made_total)" 0
}

@test "rm -r of a running job ends its machine" {
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	rm -r "${MNT:?}/$J"
	absent . "$J"
	assert_equal "$(figure fsd_machines_in_use)" 0
}

@test "a daemon that is killed leaves no machine behind, and its job is interrupted" {
	own_mount
	mount_start --fork no --pool 1
	job_made code.py <<<$'import signal\nprint("up", flush=True)\nsignal.pause()'
	job_put "$J" config.json '{"timeout": 300}'
	bounded 300 head -c 3 "$MNT/$J/stdout.follow"
	local session=$DAEMON pids pid
	pids=$(machines)
	[ -n "$pids" ]
	mount_crash
	for pid in $pids; do
		await exit "$pid" 10
	done
	await unused "$session" "$STATE"
	mount_start --fork no
	ended "$J" 125 interrupted
	stdout_is "$J" up
}

@test "result.json says which machine it was" {
	prog code.py <<<'print(1)'
	run result "$J" .machine.accel
	assert_output --regexp '^(kvm|tcg)$'
	run result "$J" .machine.source
	assert_output --regexp '^(warm|restored|booted)$'
	run result "$J" .machine.template
	assert_output --regexp '^[0-9a-f]{16,}$'
}

@test "a template that fsd template makes serves all users, and nothing is written beside it" {
	local shared=$STATE/shared made before
	own_mount
	rm -r "$STATE/templates"
	# lib/template.sh made the first one so.
	[ -e "$shared/made" ] || {
		shared=$BATS_TEST_TMPDIR/shared
		mkdir "$shared"
		bounded 200 "$FSD" template --image "$IMAGE" --accel tcg "$shared/all" >"$shared/made"
	}
	made=$(cat "$shared/made")
	shared=$(dirname "$made")
	assert_equal "$(stat -c '%a %F' "$made" "$made"/* | sort -u)" $'444 regular file\n755 directory'
	assert_equal "$(ls -A "$shared")" "$(basename "$made")"
	before=$(find "$shared" -printf '%p %m %T@ %C@\n' | sort)
	FSD_TEMPLATES=$shared mount_start --pool 0 --fork no
	prog code.py <<<'print("right")'
	ok right
	assert_equal "$(figure fsd_templates_made_total)" 0
	assert_equal "$(find "$shared" -printf '%p %m %T@ %C@\n' | sort)" "$before"
	run ls -d "$STATE"/templates/[0-9a-f]*/
	assert_failure
}

@test "whatever is wrong with a template's files, it is found before it serves" {
	local dir how
	plain_mount copy
	for how in 'truncate -c -s 4096 state' 'sed -i 1s/.*/nonsense/ meta' 'rm ram'; do
		for dir in "$STATE"/templates/[0-9a-f]*/; do
			cp -a --sparse=always "$dir" "$BATS_TEST_TMPDIR/good"
			(cd "$dir" && $how)
		done
		mount_start --pool 0 --fork no
		# What follows is what a first start does.
		await becomes 60 grep -q 'machines: booting the guest' "$LOG"
		assert_equal "$(figure fsd_templates_made_total)" 0
		mount_stop
		rm -rf "$dir"
		mv "$BATS_TEST_TMPDIR/good" "$dir"
	done
}

@test "a template of another day serves on, and its successor is made beside it" {
	local dir ids
	plain_mount
	for dir in "$STATE"/templates/*/; do
		sed -i 's/^made .*/made 86400/' "$dir/meta"
	done
	ids=$(stat -c %i "$STATE"/templates/[0-9a-f]*/ram)
	mount_start --pool 0
	# when its kernel came up, which is in the template
	local age=$'#!/bin/sh\nstat -c %z /dev' before
	prog code <<<"$age"
	ok
	before=$(out)
	assert_equal "$(figure fsd_templates_made_total)" 0
	await becomes 120 grep -q '^fsd_templates_made_total 1' "$MNT/.fsd/stats"
	grep -q 'the template was made anew' "$LOG"
	[ "$(stat -c %i "$STATE"/templates/[0-9a-f]*/ram)" != "$ids" ]
	# The old zygote serves until there is a new one, and so does a machine that
	# was there already.
	await becomes 60 sh -c '[ "$(grep -c "a zygote is ready" "$1")" -ge 2 ]' - "$LOG"
	local n=0 now=$before
	while [ "$now" = "$before" ] && [ $((n += 1)) -lt 10 ]; do
		prog code <<<"$age"
		ok
		now=$(out)
	done
	refute [ "$now" = "$before" ]
	# nobody uses the old one any more
	await becomes 20 sh -c '! ls -d "$1"/templates/.[on]* 2>/dev/null' - "$STATE"
}

@test "a plain machine runs a program with #!, and no interpreter waits in it" {
	plain_mount
	mount_start --pool 0 --fork no
	prog code <<<$'#!/bin/sh\ncat /proc/[0-9]*/comm | sort | uniq -c | xargs'
	ok
	assert_equal "$(out | grep -cE 'node|esbuild|python')" 0
	prog code.py <<<'print(1)'
	ended "$J" 125 failed
	assert_equal "$(cat "$MNT/$J/error")" \
		'the program never ran: the python runner is not there'
	assert_equal "$(figure fsd_templates_made_total)" 0
}

@test "--qemu says which QEMU runs the machines, and one that cannot is refused" {
	own_mount
	mkdir "$BATS_TEST_TMPDIR/none"
	run bounded 60 "$FSD" mount --qemu /bin/true --state "$STATE" --image "$IMAGE" "$BATS_TEST_TMPDIR/none"
	assert_failure
	assert_output --partial '--qemu is "/bin/true"; it must be a QEMU that runs here'
	# the host's own libraries are nothing that a tree may use
	local tree=$TESTS/../build/qemu
	if [ -e "$tree/origin" ]; then
		cp -a "$tree" "$BATS_TEST_TMPDIR/tree"
		rm "$BATS_TEST_TMPDIR"/tree/usr/lib/*/libz.so.1
		run bounded 60 "$FSD" mount --qemu "$BATS_TEST_TMPDIR/tree/usr/bin/qemu-system-x86_64" \
			--state "$STATE" --image "$IMAGE" "$BATS_TEST_TMPDIR/none"
		assert_failure
		assert_output --partial "is not in its tree $BATS_TEST_TMPDIR/tree; \`fsd qemu bring\`"
	fi
	mount_start --pool 0 --qemu /usr/bin/qemu-system-x86_64
	grep -qE '^qemu  active  .* /usr/bin/qemu-system-x86_64: --qemu names it; .*, of 20[0-9-]+, [0-9]+ days old' \
		"$MNT/.fsd/security"
}

# charged — the bytes in memory files that the one machine's group bears.
charged() {
	awk '$1 == "shmem" { print $2 }' "$(memory_group "$(machines)")/memory.stat"
}

@test "a template that is damaged while it serves gives no wrong result and is made again; one that lies in memory is not the next machine's to bear" {
	local dir template security=$MNT/.fsd/security
	plain_mount copy
	# Where a boot there can be seen: in memory.
	if grep -q '^qemu-cgroup  active  .* version 1$' "$security" &&
		[ "$(stat -f -c %T /dev/shm)" = tmpfs ]; then
		template=$STATE/templates
		STATE=$(mktemp -d /dev/shm/fsd-machines.XXXXXX)
		mv "$template" "$STATE/"
	fi
	mount_start --pool 0 --fork no --max-machines 1
	local right=$'#!/bin/sh\necho right'
	prog code <<<"$right"
	ok right
	rm -f "$STATE"/templates/took-*
	for dir in "$STATE"/templates/*/; do
		truncate -c -s 8M "$dir/ram"
	done
	job_made code <<<"$right"
	job_put "$J" config.json '{}'
	assert_equal "$(bounded 900 cat "$MNT/$J/wait")" 0
	stdout_is "$J" right
	assert_equal "$(figure fsd_templates_made_total)" 1
	# The job was told how long that takes, and the next one will be.
	grep -q 'waits for the template: .* ([0-9]* s so far, ' "$MNT/$J/log"
	[ "$(cat "$STATE"/templates/took-*)" -gt 500 ]
	[ -n "${template:-}" ] || return 0
	job_made code <<<$'#!/bin/sh\necho up\nexec sleep 600'
	job_put "$J" config.json '{}'
	job_follow "$J" up
	run charged
	rm -r "${STATE:?}"/templates
	[ "$output" -lt $((64 << 20)) ] || fail "$output bytes are charged to it"
}

@test "a guest image that is damaged is refused by its name, and runs nothing" {
	own_mount
	cp -a "$IMAGE" "$BATS_TEST_TMPDIR/image"
	chmod u+w "$BATS_TEST_TMPDIR/image/rootfs.erofs"
	printf 'x' | dd of="$BATS_TEST_TMPDIR/image/rootfs.erofs" bs=1 \
		seek=5000000 conv=notrunc status=none
	expect_log 'jobs cannot run|no template'
	mount_start --image "$BATS_TEST_TMPDIR/image"
	await becomes 120 grep -q 'rootfs.erofs' "$MNT/.fsd/health"
	job_made code.py <<<'print("wrong")'
	job_put "$J" config.json '{}'
	state_is "$J" queued
	run cat "$MNT/$J/log"
	assert_output --partial rootfs.erofs
}

@test "doctor says that jobs can run here" {
	run bounded 120 "$FSD" doctor
	echo "$output"
	[ "${#lines[@]}" -ge 3 ]
}

@test "fsd run gives a program's streams and code through the mount" {
	cat >"$BATS_TEST_TMPDIR/p.py" <<<$'import sys\nprint(sys.argv[1:], input())\nprint("e", file=sys.stderr)\nsys.exit(7)'
	run --separate-stderr bash -c "echo line | timeout 100 '$FSD' run --mount '$MNT' '$BATS_TEST_TMPDIR/p.py' a b"
	assert_equal "$status" 7
	assert_equal "$output" "['a', 'b'] line"
	# shellcheck disable=SC2154
	assert_equal "$stderr" e
}

@test "who wants no machine to be forked gets none" {
	own_mount
	mount_start --fork no --pool 2
	local _
	for _ in 1 2 3 4 5 6; do
		prog code.sh <<<'echo 1'
		ok 1
	done
	at_rest
	run zygote
	assert_failure
	fails_to_match zygote
}

