#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The tree: which files there are, in which state, with which attributes.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

names() {
	(cd "$1" && find . -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' ')
}

# bats test_tags=smoke
@test "a fresh mount holds nothing but .fsd" {
	assert_equal "$(names "$MNT")" ".fsd "
}

# bats test_tags=smoke
@test "mkdir makes a draft with its virtual files" {
	mkdir "$MNT/a"
	assert_equal "$(names "$MNT/a")" "ctl error log state "
	state_is a draft
	assert_equal "$(cat "$MNT/a/error")" ""
}

@test "a finished job lists its results, and not what would block" {
	job_run a 'out x'
	assert_equal "$(names "$MNT/a")" "code.sh config.json ctl error exit_code log output result.json state stderr stdout "
}

@test "wait and the follow files can be opened by name although no listing has them" {
	mkdir "$MNT/a"
	for name in wait stdout.follow stderr.follow; do
		[ -f "$MNT/a/$name" ] || fail "$name cannot be looked up"
		exec 9<"$MNT/a/$name"
		exec 9<&-
	done
}

@test "results are absent before the job has ended" {
	mkdir "$MNT/a"
	for name in stdout stderr output result.json exit_code; do
		absent a $name
	done
}

@test "stdout and stderr are there while it runs, the other results are not" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	exists a stdout
	exists a stderr
	for name in output result.json exit_code; do
		absent a $name
	done
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "a job's name may have 200 bytes and not 201" {
	mkdir "$MNT/$(printf 'n%.0s' {1..200})"
	fails ENAMETOOLONG mkdir "$MNT/$(printf 'n%.0s' {1..201})"
}

@test "a job's name may be any UTF-8: blanks, quotes, emoji, shell text" {
	local name
	for name in 'a b' "it's" '日本語' '🙂' 'é' '$(reboot)' '-rf' '*' 'a;b' \
		'%n%s' 'back\slash' 'a..' 'nul%00' '#' '~'; do
		job_run "$name" 'out ok'
		exit_is "$name" 0
		assert_equal "$(result "$name" .job)" "$name"
		rm -r "$MNT/./$name"
	done
	assert_equal "$(names "$MNT")" ".fsd "
}

@test "a name with control characters or broken UTF-8 is refused" {
	check job-names "$MNT"
}

@test "a job's name never becomes part of a path on the host" {
	job_run unmistakable-name 'out ok'
	run find "$STATE" -name '*unmistakable*'
	assert_output ''
}

@test "only directories can be made at the top" {
	fails EPERM touch "$MNT/file"
	fails EPERM ln -s /etc/passwd "$MNT/link"
	fails EPERM mkfifo "$MNT/fifo"
	mkdir "$MNT/a"
	fails EPERM mknod "$MNT/a/null" c 1 3
}

@test "hard links, and links that lead outside, cannot be made in a job, and the reason is readable" {
	mkdir "$MNT/a"
	job_put a code.sh 'out x'
	fails EPERM ln -s /etc/passwd "$MNT/a/link"
	fails EPERM ln "$MNT/a/code.sh" "$MNT/a/hard"
	run cat "$MNT/.fsd/last_error"
	assert_output --partial link
}

@test ".fsd cannot be made, removed, renamed or written" {
	fails EEXIST mkdir "$MNT/.fsd"
	fails EPERM rmdir "$MNT/.fsd"
	fails EPERM touch "$MNT/.fsd/new"
	fails EPERM rm -f "$MNT/.fsd/version"
	fails EPERM mv "$MNT/.fsd/version" "$MNT/.fsd/v"
	fails EPERM mkdir "$MNT/.fsd/templates/x"
	fails EPERM dd if=/dev/null of="$MNT/.fsd/version"
	mkdir "$MNT/a"
	run mv -T "$MNT/a" "$MNT/.fsd"
	assert_failure
	exists . a
}

@test ".fsd says its version, health, walls and how to use it" {
	assert_equal "$(cat "$MNT/.fsd/version")" "$("$FSD" version | cut -d' ' -f2)"
	health_is_ok
	run cat "$MNT/.fsd/README"
	assert_output --partial config.json
	[ "${#lines[@]}" -le 40 ]
	run cat "$MNT/.fsd/security"
	assert_success
	run grep -vE '^[a-z0-9-]+  (active|absent|degraded)  .' "$MNT/.fsd/security"
	assert_output ''
	run cat "$MNT/.fsd/last_error"
	assert_output ''
}

@test ".fsd/templates has a directory a language with one value a file" {
	run ls "$MNT/.fsd/templates"
	assert_line python
	assert_line javascript
	assert_line typescript
	assert_line bash
	run cat "$MNT/.fsd/templates/python/extensions"
	assert_output --partial py
	run ls "$MNT/.fsd/sessions"
	assert_success
	assert_output ''
}

@test ".fsd/stats is Prometheus text that counts what happened" {
	job_run a 'out x'
	assert_equal "$(figure 'fsd_runs_total{status="exited"}')" 1
	assert_equal "$(figure 'fsd_jobs{state="done"}')" 1
	check stats "$MNT/.fsd/stats"
	assert_equal "$(figure fsd_queue_seconds_count)" 1
	assert_equal "$(figure 'fsd_run_seconds_count{language="bash"}')" 1
	assert_equal "$(figure 'fsd_run_seconds_bucket{language="bash",le="3600"}')" 1
	assert_equal "$(figure 'fsd_refused_total{reason="config"}')" 0
	job_start r 'out x' '{"nope": 1}' || true
	assert_equal "$(figure 'fsd_refused_total{reason="config"}')" 1
	grep -q '^fsd_build_info{version="[0-9.]*",qemu="",accel="[a-z]*",image="[0-9a-f]*"} 1$' "$MNT/.fsd/stats"
	mount_stop
	mount_start --max-machines 1 --pool 1
	assert_equal "$(figure fsd_machines_max)" 1
	job_start x $'out up\nsleep 600000'
	job_follow x up
	job_start y 'out x'
	job_start z 'out x'
	assert_equal "$(figure 'fsd_waiting{reason="machine"}')" 2
	assert_equal "$(figure 'fsd_waiting{reason="quota"}')" 0
	await becomes 20 grep -qx 'fsd_queue_oldest_seconds 1' "$MNT/.fsd/stats"
}

@test "the whole tree can be walked, found, archived and grepped without blocking" {
	job_start a $'out up\nsleep 600000'
	job_follow a up
	job_run b 'out needle'
	bounded 20 find "$MNT" -ls >/dev/null
	run bounded 20 grep -rl needle "$MNT"
	assert_line "$MNT/b/stdout"
	bounded 20 tar cf "$BATS_TEST_TMPDIR/t.tar" -C "$MNT" b
	bounded 20 du -s "$MNT" >/dev/null
	echo kill >"$MNT/a/ctl"
	job_wait a
}

@test "the owner is who made the job, and umask decides the mode" {
	(umask 077 && mkdir "$MNT/a" && echo x >"$MNT/a/file")
	assert_equal "$(stat -c %a "$MNT/a")" 700
	assert_equal "$(stat -c %a "$MNT/a/file")" 600
	assert_equal "$(stat -c %a "$MNT/a/state")" 600
	assert_equal "$(stat -c %u "$MNT/a")" "$(id -u)"
	(umask 022 && mkdir "$MNT/b" && echo x >"$MNT/b/file")
	assert_equal "$(stat -c %a "$MNT/b")" 755
	assert_equal "$(stat -c %a "$MNT/b/file")" 644
}

@test "times are those of the events" {
	local before after made
	before=$(date +%s%N)
	mkdir "$MNT/a"
	echo x >"$MNT/a/file"
	after=$(date +%s%N)
	for made in a a/file a/state; do
		made=$(date -d "$(stat -c %y "$MNT/$made")" +%s%N)
		# The kernel's coarse clock may be a tick behind.
		[ "$made" -ge $((before - 20000000)) ]
		[ "$made" -le $((after + 20000000)) ]
	done
}

@test "st_size of the virtual files is what a read gives" {
	job_run a $'out twelve bytes\nerr x'
	local name
	for name in state error log stdout stderr result.json exit_code; do
		assert_equal "$(stat -c %s "$MNT/a/$name")" \
			"$(cat "$MNT/a/$name" | wc -c)"
	done
	for name in README version health; do
		assert_equal "$(stat -c %s "$MNT/.fsd/$name")" \
			"$(cat "$MNT/.fsd/$name" | wc -c)"
	done
}

@test "statfs tells the room that is left in the state directory" {
	run stat -f -c '%l %b' "$MNT"
	assert_success
	[ "${lines[0]%% *}" = 255 ]
	[ "${lines[0]##* }" -gt 0 ]
}

@test "virtual files cannot be created, renamed, replaced or linked by hand" {
	job_run a 'out x'
	check virtual-files "$MNT/a"
	stdout_is a x
	exit_is a 0
}

@test "ctl and state read at once and ctl reads as empty" {
	mkdir "$MNT/a"
	assert_equal "$(bounded 5 cat "$MNT/a/ctl")" ''
	assert_equal "$(bounded 5 cat "$MNT/a/state")" draft
}

@test "another user can neither see nor enter nor change a job" {
	mount_public
	(umask 022 && job_run a 'out secret')
	local other='setpriv --reuid 65534 --regid 65534 --clear-groups'
	fails ENOENT $other cat "$MNT/a/stdout"
	fails ENOENT $other ls "$MNT/a"
	fails ENOENT $other dd status=none of="$MNT/a/code.sh" if=/dev/null
	fails ENOENT $other rmdir "$MNT/a"
	fails ENOENT $other mv "$MNT/a" "$MNT/b"
	assert_equal "$($other ls "$MNT")" ""
	fails EACCES $other dd status=none of="$MNT/.fsd/ctl" if=/dev/null
	$other mkdir "$MNT/theirs"
	assert_equal "$(stat -c %u "$MNT/theirs")" 65534
	$other sh -c "echo 'out mine' > $MNT/theirs/code.sh && echo {} > $MNT/theirs/config.json"
	assert_equal "$(bounded 20 $other cat "$MNT/theirs/wait")" 0
	assert_equal "$($other cat "$MNT/theirs/stdout")" mine
}

@test "without --allow-other nobody else gets in" {
	mount_public ''
	mkdir "$MNT/a"
	fails EACCES setpriv --reuid 65534 --regid 65534 --clear-groups ls "$MNT"
}

@test "last_error belongs to the user who made the error" {
	mount_public
	local other='setpriv --reuid 65534 --regid 65534 --clear-groups'
	job_start a 'out x' '{"nonsense": 1}' || true
	run cat "$MNT/.fsd/last_error"
	assert_output --partial nonsense
	run $other cat "$MNT/.fsd/last_error"
	assert_output ''
}

@test "extended attributes tell the state and the id" {
	job_run a 'out x'
	assert_equal "$(getfattr --only-values -n user.fsd.state "$MNT/a")" 'done'
	assert_equal "$(getfattr --only-values -n user.fsd.id "$MNT/a")" \
		"$(result a .id)"
	run setfattr -n user.mine -v 1 "$MNT/a"
	assert_failure
}
