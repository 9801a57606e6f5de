# SPDX-License-Identifier: Apache-2.0
#
# A network for tests: servers in a namespace of their own, and the program under test in
# another one, with name servers that lead to the first. See tests/network/world.py.
#
#   WORLD      a directory: a file system that both see, with the mounts of the tests
#   WORLD_PID  a process of the namespace of the program under test

# world_up — for setup_file. FSD is a script then that enters the namespace.
world_up() {
	local real=$FSD

	[ "$(id -u)" = 0 ] || need 'only root makes these namespaces'
	command -v ip >/dev/null || need 'there is no ip(8)'
	WORLD=$BATS_FILE_TMPDIR/world
	mkdir -p "$WORLD"
	mount -t tmpfs -o mode=755 world "$WORLD" && mount --make-shared "$WORLD" || return
	mkfifo "$WORLD/end"
	/usr/bin/python3 -I -S "$TESTS/network/world.py" "$WORLD" \
		<"$WORLD/end" >"$WORLD/pid" 2>"$WORLD/world.log" 3>&- 4>&- &
	WORLD_SERVER=$!
	exec {WORLD_FD}>"$WORLD/end"
	await becomes 20 grep -q . "$WORLD/pid" || {
		cat "$WORLD/world.log" >&2
		return 1
	}
	WORLD_PID=$(cat "$WORLD/pid")
	cat >"$WORLD/fsd" <<-SH
		#!/bin/sh
		exec nsenter -t $WORLD_PID -n -m --wd="\$PWD" -- $real "\$@"
	SH
	chmod +x "$WORLD/fsd"
	FSD_REAL=$real FSD=$WORLD/fsd
	export WORLD WORLD_PID WORLD_SERVER WORLD_FD FSD FSD_REAL
}

# world_down — for teardown_file.
world_down() {
	[ -n "${WORLD:-}" ] || return 0
	[ -z "${WORLD_FD:-}" ] || eval "exec $WORLD_FD>&-"
	[ -z "${WORLD_SERVER:-}" ] || await exit "$WORLD_SERVER" 20
	umount "$WORLD"
}

# policy TEXT — the operator's file of the next mount or reload.
policy() {
	rm -f "$WORLD/policy.json"
	printf '%s\n' "$1" >"$WORLD/policy.json"
}
