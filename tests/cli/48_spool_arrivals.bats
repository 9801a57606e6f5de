#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# fsd spool: how programs write into DIR/new. However slow a writer is, its job gets all of
# what it wrote, and runs once: with events, by listing alone, and on another host.

load ../lib/common
load ../lib/spool

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mount_start --pool 0
	S=$BATS_TEST_TMPDIR/spool
	seq 60000 >data
	mkdir job
	echo 'show data' >job/code.sh
	cp data job/data
	tar c -C job code.sh data >job.tar
	(cd job && zip -q ../job.zip code.sh data)
}
teardown() {
	touch "$BATS_TEST_TMPDIR/go" # a writer that waits ends
	spools_end
	if [ -n "${FAR:-}" ]; then
		fusermount3 -u "$FAR"
	fi
	mount_done
}

# paused FILE BYTES — on standard output, with a pause behind so many bytes.
paused() {
	head -c "$2" "$1"
	await becomes 100 test -e "$BATS_TEST_TMPDIR/go"
	tail -c +$(($2 + 1)) "$1"
}

# waits_for_writer NAME... — the spool had twice the time that a complete entry needs, and
# took none of these.
waits_for_writer() {
	local i name

	for i in 1 2; do
		echo 'out probe' >"$S/new/probe$i.sh"
		comes "done/probe$i.sh"
	done
	for name; do
		[ -e "$S/new/$name" ] || fail "$name was taken: $(ls "$S/done" "$S/failed")"
	done
}

# ran_whole NAME... — each job saw all of its data, and ran once.
ran_whole() {
	local name

	for name; do
		comes "done/$name"
		cmp data "$S/done/$name/stdout"
		[ ! -e "$S/done/$name.2" ]
		[ ! -e "$S/failed/$name" ]
	done
	nothing_left
}

# What writes for so long that it has a pause, each in its background.
slow_writers() {
	local pids=()

	mkdir "$S/new/copy" "$S/new/tar" "$S/new/append"
	cp job/code.sh "$S/new/copy/"
	paused data 150000 >"$S/new/copy/data" 3>&- 4>&- &
	pids+=($!)
	# tar's pause is in the middle of a file
	paused job.tar 200000 3>&- 4>&- | tar x -C "$S/new/tar" 3>&- 4>&- &
	pids+=($!)
	cp job/code.sh "$S/new/append/"
	paused data 10 | dd of="$S/new/append/data" oflag=append conv=notrunc bs=7777 \
		status=none 3>&- 4>&- &
	pids+=($!)
	mkdir "$S/new/upload.filepart"
	cp job/code.sh "$S/new/upload.filepart"
	paused data 1 >"$S/new/upload.filepart/data" 3>&- 4>&- &
	pids+=($!)
	waits_for_writer copy tar append upload.filepart
	touch go
	wait "${pids[@]}"
	mv "$S/new/upload.filepart" "$S/new/upload"
	ran_whole copy tar append upload
}

@test "a writer that pauses has its entry to itself" {
	spool_start
	slow_writers
}

@test "so it has where entries are found by listing alone" {
	spool_start --poll-only --poll 0.1
	slow_writers
}

# What ends soon, and has no pause but its own.
quick_writers() {
	cp -r job "$S/new/cp"
	cp -a job "$S/new/cp-a"
	rsync -r --bwlimit=2m job/ "$S/new/rsync/"
	rsync -r --inplace --bwlimit=2m job/ "$S/new/inplace/"
	unzip -q job.zip -d "$S/new/unzip"
	cp -r job "$S/tmp/mv"
	mv "$S/tmp/mv" "$S/new/mv"
	cp -r job /dev/shm/"fsd-spool-$$"
	mv /dev/shm/"fsd-spool-$$" "$S/new/mv-far"
	cp -rl job "$S/new/links"
	ran_whole cp cp-a rsync inplace unzip mv mv-far links
}

@test "what copies, extracts, moves and links gives one whole job each" {
	spool_start
	quick_writers
}

@test "so it does where entries are found by listing alone" {
	spool_start --poll-only --poll 0.1
	quick_writers
}

@test "what an editor writes runs once, and nothing of the editor's own does" {
	spool_start
	printf 'a\nout ed\n.\nw %s\nq\n' "$S/new/ed.sh" | ed -s
	bounded 20 vim.tiny -u NONE -N -es --cmd 'set updatecount=1 backup' \
		-c 'normal iout vim' -c "w $S/new/vim.sh" -c 'q!' </dev/null
	comes done/ed.sh
	comes done/vim.sh
	waits_for_writer
	assert_equal "$(names "$S/done" | tr ' ' '\n' | grep -v probe)" $'ed.sh\nvim.sh'
	assert_equal "$(names "$S/failed")" ''
}

# --- a filesystem without events, and with another host --------------------------------

# far_spool — $NEAR is a directory of another host, which this one has as $S, by sshfs and
# sftp-server without a network.
far_spool() {
	FAR=$BATS_TEST_TMPDIR/far NEAR=$BATS_TEST_TMPDIR/near
	mkdir "$FAR" "$NEAR"
	printf '#!/bin/sh\nexec /usr/lib/openssh/sftp-server\n' >sftp
	chmod +x sftp
	# its cache of directories would hide a new entry for 20 s
	bounded 20 sshfs -o ssh_command="$PWD/sftp",dir_cache=no "host:$NEAR" "$FAR" 3>&- 4>&-
	S=$FAR
}

@test "what another host drops runs, though it gives no event" {
	far_spool
	spool_start --poll 0.1
	cp -r job "$NEAR/tmp/mv"
	mv "$NEAR/tmp/mv" "$NEAR/new/mv"
	cp -r job "$NEAR/new/cp"
	echo 'out file' >"$NEAR/new/file.sh"
	ran_whole mv cp
	comes done/file.sh
	assert_equal "$(<"$NEAR/done/file.sh/stdout")" file
	cp -r job "$S/new/here"
	ran_whole here
}

@test "a marker says it where another host's writer cannot be seen" {
	far_spool
	spool_start --poll 0.1 --ready COMPLETE
	mkdir "$NEAR/new/copy"
	cp job/code.sh "$NEAR/new/copy/"
	paused data 150000 >"$NEAR/new/copy/data" 3>&- 4>&- &
	local writer=$! i
	for i in 1 2; do
		echo 'out probe' >"$NEAR/new/probe$i.sh"
		touch "$NEAR/new/probe$i.sh.ready"
		comes "done/probe$i.sh"
	done
	[ -e "$NEAR/new/copy" ]
	touch go
	wait $writer
	touch "$NEAR/new/copy/COMPLETE"
	comes done/copy
	cmp data "$NEAR/done/copy/stdout"
	assert_equal "$(names "$NEAR/new")" ''
}

@test "two hosts that serve one directory run each entry once" {
	far_spool
	spool_start --name far --poll 0.1
	S=$NEAR spool_start --name near
	local i
	for i in $(seq 20); do
		mkdir "$NEAR/tmp/$i"
		echo "out $i" >"$NEAR/tmp/$i/code.sh"
		if [ $((i % 2)) = 0 ]; then
			mv "$NEAR/tmp/$i" "$NEAR/new/$i"
		else
			cp -r "$NEAR/tmp/$i" "$NEAR/new/$i"
		fi
	done
	for i in $(seq 20); do
		comes "done/$i"
		assert_equal "$(<"$NEAR/done/$i/stdout")" "$i"
	done
	nothing_left
	assert_equal "$(names "$NEAR/done" | wc -w)" 20
	assert_equal "$(names "$NEAR/failed")" ''
	assert_equal "$(grep -c 'starts, bash' "$LOG")" 20
}
