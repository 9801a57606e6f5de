#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each refusal leaves its own sentence in .fsd/last_error, with its path.

load ../lib/common

setup() { mount_start; }
teardown() { mount_done; }

# says TEXT — the last refusal is that one.
says() {
	run cat "$MNT/.fsd/last_error"
	[[ $output == "$1"* ]] || fail "last_error is \"$output\", not \"$1...\""
}

# bats test_tags=smoke
@test "each refusal names its own path, whatever was refused before" {
	local errno says command big=$BATS_TEST_TMPDIR/big long
	long=$(printf 'n%.0s' {1..256})
	head -c $(((1 << 20) + 1)) /dev/zero | tr '\0' '#' >"$big"
	: >"$BATS_TEST_TMPDIR/plain"
	job_run d $'out x\nwrite f 1'
	job_start r $'out up\nsleep 600000'
	job_follow r up
	mkdir "$MNT"/{a,b,e} "$MNT/a/dir"
	job_put e code.sh 'out x'
	cd "$MNT"
	while IFS='|' read -r errno says command; do
		fails EPERM touch "$MNT/other" # another's sentence
		says 'other: '
		fails "$errno" bash -c "$command"
		says "$says"
	done <<-EOF
		EFBIG|b: code.py: the program is larger than 1 MiB|cp $big b/code.py
		EINVAL|e: config.json: "nope" is|dd status=none of=e/config.json <<<'{"nope": 1}'
		EINVAL|e: ctl: |dd status=none of=e/ctl <<<bad
		EINVAL|a: ctl: the job is not complete|dd status=none of=a/ctl <<<start
		EINVAL|.fsd: |dd status=none of=.fsd/ctl <<<bad
		EPERM|.fsd: health: what is in .fsd|dd status=none conv=notrunc of=.fsd/health <<<x
		EPERM|.fsd: |mkdir .fsd/x
		EPERM|.fsd: health: |rm -f .fsd/health
		EPERM|.fsd: health: |chmod 600 .fsd/health
		EPERM|r: state is a virtual file|dd status=none conv=notrunc of=r/state <<<x
		EPERM|a: state: a virtual file cannot be renamed|mv a/state b/x
		EPERM|d: stdout is a virtual file|dd status=none conv=notrunc of=d/stdout <<<x
		EPERM|d: output/f: results cannot be changed|dd status=none conv=notrunc of=d/output/f <<<x
		EPERM|d: output/f: results cannot be changed|truncate -s 0 d/output/f
		EPERM|d: output/ is the program's|touch d/output/g
		EPERM|a: fifo: only files and directories|mkfifo a/fifo
		EPERM|a: hard: hard links|ln $MNT/d/config.json a/hard
		EPERM|a: a job cannot be moved into|mv -T a b/a2
		ENAMETOOLONG|a: a file's name|touch a/$long
		ENAMETOOLONG|?: a job's name|mkdir $long
		EILSEQ|?: a job's name|mkdir \$'\\xff'
		EBUSY|r: new: the job is running|touch r/new
		EBUSY|r: code.sh: the job is running|dd status=none conv=notrunc of=r/code.sh <<<x
		EBUSY|r: config.json: the job is running|truncate -s 0 r/config.json
		EBUSY|r: the job is running and cannot be renamed|mv r r2
		EBUSY|r: sub: the job is running|mkdir r/sub
	EOF
	cd /
	echo kill >"$MNT/r/ctl"
	job_wait r
}

@test "what a copy brings too late is told in last_error and, once a run, in log" {
	mkdir "$MNT/a"
	exec 9>"$MNT/a/half"
	job_put a code.sh $'out up\nsleep 600000'
	job_put a config.json '{}'
	job_follow a up
	run bash -c 'LC_ALL=C printf x >&9'
	assert_output --partial 'Device or resource busy'
	says 'a: half: the job is running: its inputs are frozen until it has ended; write all of them to a name with a dot and rename it (mv .draft next), or use fsd submit'
	fails EBUSY cp /etc/hostname "$MNT/a/data"
	fails EBUSY mkdir "$MNT/a/sub"
	says 'a: sub: the job is running: its inputs are frozen until it has ended; write'
	# Who changes what is there is no copy.
	fails EBUSY dd status=none of="$MNT/a/code.sh" conv=notrunc <<<x
	says 'a: code.sh: the job is running: its inputs are frozen until it has ended'
	exec 9>&-
	run cat "$MNT/a/log"
	assert_output --partial 'half came too late, and its writer got EBUSY: the job had begun, since config.json and the program were complete; write to .a and `mv .a a`, or use `fsd submit`'
	assert_equal "$(grep -c 'too late' "$MNT/a/log")" 1
	echo kill >"$MNT/a/ctl"
	job_wait a
	job_put a config.json '{}'
	job_follow a up
	fails EBUSY touch "$MNT/a/late"
	assert_equal "$(grep -c 'too late' "$MNT/a/log")" 2
	echo kill >"$MNT/a/ctl"
	job_wait a
}
