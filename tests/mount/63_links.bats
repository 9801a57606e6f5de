#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Symbolic links: those that stay in their job are kept, given and given back; none
# leads anywhere else.

load ../lib/common

setup() {
	mount_start
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() { mount_done; }

# A tree as package managers make it.
tree() {
	mkdir -p src/bin src/tool/v2
	echo data >src/tool/v2/cli
	ln -s ../tool/v2/cli src/bin/cli
	ln -s v2 src/tool/latest
	ln -s nowhere src/dangling
	ln -s tool/../tool/latest/./cli src/round
}

# links DIR — each and its target
links() {
	(cd "$1" && find . -type l -printf '%P %l\n' | sort)
}

# bats test_tags=smoke
@test "cp -a, rsync -a and tar bring a tree with links whole, and the program gets them" {
	tree
	mkdir "$MNT/a"
	cp -a src "$MNT/a/one"
	rsync -a src/ "$MNT/a/two/"
	mkdir "$MNT/a/three"
	tar cf - -C src . | tar xf - -C "$MNT/a/three"
	local part
	for part in one two three; do
		assert_equal "$(links "$MNT/a/$part")" "$(links src)"
		assert_equal "$(cat "$MNT/a/$part/bin/cli" "$MNT/a/$part/round")" $'data\ndata'
	done
	assert_equal "$(stat -c '%F %s' "$MNT/a/one/bin/cli")" 'symbolic link 14'
	job_put a code.sh 'files'
	job_put a config.json '{"inputs": ["one/bin/cli"]}'
	job_wait a
	grep -qxF 'one/bin/cli -> ../tool/v2/cli' "$MNT/a/stdout"
	grep -qxF 'two/dangling -> nowhere' "$MNT/a/stdout"
	server_kill
	assert_equal "$(links "$MNT/a/one")" "$(links src)"
	mount_stop
	mount_start
	assert_equal "$(links "$MNT/a/one")" "$(links src)"
	cp -r "$MNT/a" "$MNT/b"
	job_wait b
	assert_equal "$(links "$MNT/b/two")" "$(links src)"
	mv "$MNT/b/two" "$MNT/b/moved"
	ln -sfn v1 "$MNT/b/moved/tool/latest"
	assert_equal "$(readlink "$MNT/b/moved/tool/latest")" v1
	rm -r "$MNT/a" "$MNT/b"
	assert_equal "$(ls "$STATE/jobs")" ''
}

@test "what the program links in its directory is in output/, as a link, and copies" {
	job_run a $'write d/f x\nsymlink d/up ../d/f\nsymlink latest d\nwrite e x'
	assert_equal "$(links "$MNT/a/output")" $'d/up ../d/f\nlatest d'
	assert_equal "$(cat "$MNT/a/output/latest/up")" x
	assert_equal "$(result a '.output[] | select(.path == "latest") | .target + " " + .mime')" 'd inode/symlink'
	result_is a .message null
	cp -r "$MNT/a" "$MNT/b"
	job_wait b
	cp -a "$MNT/a/output" out
	assert_equal "$(links out)" "$(links "$MNT/a/output")"
	fails EPERM ln -s x "$MNT/a/output/y"
	fails EPERM rm -f "$MNT/a/output/latest" || true
	rm -r "$MNT/a" "$MNT/b"
	assert_equal "$(ls "$STATE/jobs")" ''
}

@test "a link that leads outside is refused with a sentence, whatever its way" {
	mkdir -p "$MNT/a/x/y" "$MNT/b"
	local target
	for target in /etc/passwd / .. ../b x/../.. x/../../b ./../b x/y/../../../b; do
		fails EPERM ln -s "$target" "$MNT/a/l"
		grep -q 'l: a link.s target is relative and stays inside the job' "$MNT/.fsd/last_error"
	done
	ln -s ../.. "$MNT/a/x/y/top"
	fails EPERM ln -s ../../.. "$MNT/a/x/y/above"
	fails EPERM mv "$MNT/a/x/y/top" "$MNT/a/top"
	for target in code.py config.json stdin; do
		fails EPERM ln -s x "$MNT/a/$target"
		fails EPERM mv "$MNT/a/x/y/top" "$MNT/a/$target"
		grep -q "$target must be a file, not a link" "$MNT/.fsd/last_error"
	done
	fails EPERM ln -s a "$MNT/top"
	fails EPERM ln -s a "$MNT/.fsd/top"
}

@test "neither a chain of links nor a move makes one that leads outside" {
	mkdir -p "$MNT/a/x/y"
	echo secret >"$MNT/a/secret"
	ln -s ../.. "$MNT/a/x/y/top" # the job itself
	# by their text these stay inside; by way of the first one they do not
	ln -s x/y/top/.. "$MNT/a/one"
	ln -s x/y/top/../b "$MNT/a/two"
	assert_equal "$(cat "$MNT/a/x/y/top/secret")" secret
	fails EPERM cat "$MNT/a/one/."
	fails EPERM ls "$MNT/a/two/."
	grep -q 'leads outside' "$MNT/.fsd/last_error"
	# a directory moves up, and its link would lead further
	mkdir "$MNT/a/x/y/z"
	ln -s ../../../secret "$MNT/a/x/y/z/l"
	assert_equal "$(cat "$MNT/a/x/y/z/l")" secret
	mv "$MNT/a/x/y/z" "$MNT/a/z"
	fails EPERM cat "$MNT/a/z/l"
	job_put a code.sh 'files'
	job_put a config.json '{}'
	job_wait a
	run grep -c ' -> ' "$MNT/a/stdout"
	assert_output 1
	grep -q 'the link z/l is not given to the program: it leads outside' "$MNT/a/log"
}

@test "on the disk of the host a link of a job leads nowhere" {
	tree
	cp -a src "$MNT/a"
	ln -s /dev/null/x probe
	assert_equal "$(find -L "$STATE/jobs" -type l | wc -l)" 4
	assert_equal "$(find "$STATE/jobs" -lname '/dev/null/*' | wc -l)" 4
	run find "$STATE/jobs" -xtype f -name cli
	assert_equal "${#lines[@]}" 1
}

@test "links count for a quota, and go with it" {
	mount_stop
	mount_start --quota-bytes 1M
	mkdir "$MNT/a"
	ln -s 0123456789 "$MNT/a/l"
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 10
	mount_stop
	mount_start --quota-bytes 1M
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 10
	rm "$MNT/a/l"
	assert_equal "$(figure 'fsd_user_bytes{uid="0"}')" 0
}
