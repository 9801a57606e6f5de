#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fsd-container — process 1 of the image for containers, and the way into it.
#
#   serve [OPTION...]     a mount, /run/fsd/jobs, with these options of fsd mount
#   gateway [OPTION...]   the same, and HTTP on port 3000, with these options of fsd-gateway
#   in COMMAND...         any command, where the mount of this container is seen
#   WORD...               the same for `fsd WORD...`; without a mount as it is
#
# A container gives its processes no right to mount. So the mount is made in a user
# namespace and a mount namespace below the container's. Later commands enter these two. With
# CAP_SYS_ADMIN the mount is the container's.
set -eu

jobs=/run/fsd/jobs
# The keys of the gateway, one a line. FSD_API_KEYS may have them instead.
keys=${FSD_KEYS:-/run/secrets/fsd-keys}

die() {
	echo "fsd-container: error: $*" >&2
	exit 1
}

# may_mount — this process has CAP_SYS_ADMIN, which is bit 21.
may_mount() {
	caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
	[ $((0x$caps >> 21 & 1)) = 1 ]
}

# find_server — prints the first process that sees a mount, which is in namespaces of its own.
find_server() {
	grep -ls " $jobs fuse" /proc/[0-9]*/mounts | cut -d / -f 3 | sort -n | head -n 1
}

# The container's own file systems may be read-only, or belong to another user.
make_place() {
	mount -t tmpfs -o mode=755,size=1M tmpfs /run/fsd ||
		die "no file system can be mounted on /run/fsd"
	mkdir $jobs
}

# The gateway reads keys from a file that none but its user may read.
copy_keys() {
	if [ -n "${FSD_API_KEYS:-}" ]; then
		(umask 077 && echo "$FSD_API_KEYS" >/run/fsd/keys)
		return
	fi
	[ -r "$keys" ] || die "the gateway has no keys: $keys is not there or cannot be" \
		"read; make one with \`fsd gateway --new-key\` and mount the file there, name" \
		"another place in FSD_KEYS, or put the keys into FSD_API_KEYS"
	(umask 077 && cat "$keys" >/run/fsd/keys.new && mv /run/fsd/keys.new /run/fsd/keys)
}

# start_mount [OPTION...] — $mount is its process. Return: 1: it has ended.
start_mount() {
	# shellcheck disable=SC2086 # options
	fsd mount ${FSD_OPTIONS:-} "$@" $jobs &
	mount=$!
	trap 'ending=yes; kill "$mount" 2>/dev/null || :' TERM INT
	until [ -e $jobs/.fsd/health ]; do
		kill -0 "$mount" 2>/dev/null || return 1
		sleep 0.1
	done
	# Until its attributes are asked for, the kernel takes uid 0 for the owner of the mount.
	# There is no uid 0 in this namespace, so it lets no process make a file there.
	stat $jobs >/dev/null || :
}

# end_of PID — waits for a child, also if signals interrupt that. Return: its exit code.
end_of() {
	while :; do
		code=0
		wait "$1" || code=$?
		kill -0 "$1" 2>/dev/null || return "$code"
	done
}

serve() {
	status=0
	start_mount "$@" || :
	end_of "$mount" || status=$?
	exit "$status"
}

serve_gateway() {
	status=0
	copy_keys
	unset FSD_API_KEYS
	if start_mount && [ -z "${ending:-}" ]; then
		fsd-gateway --mount $jobs --listen 0.0.0.0:3000 --api-key-file /run/fsd/keys "$@" &
		gateway=$!
		# The gateway is a client of the mount, so it ends first.
		trap 'kill "$gateway" 2>/dev/null || :' TERM INT
		[ ! -r "$keys" ] || trap 'copy_keys && kill -HUP "$gateway" || :' HUP
		[ -z "${ending:-}" ] || kill "$gateway"
		end_of "$gateway" || status=$?
		trap '' TERM INT HUP
		kill "$mount" 2>/dev/null || :
	fi
	end_of "$mount" || status=$?
	exit "$status"
}

[ $# -gt 0 ] || set -- serve

case $1 in
gateway)
	case ${2:-} in --new-key | --help) exec fsd "$@" ;; esac
	;;
serve) ;;
*)
	if [ "$1" = in ]; then shift; else set -- fsd "$@"; fi
	[ ! -e $jobs/.fsd/health ] || exec "$@"
	server=$(find_server)
	if [ -n "$server" ]; then
		exec nsenter --target "$server" --user --mount --preserve-credentials "$@"
	fi
	unset FSD_MOUNT
	exec "$@"
	;;
esac

# Process 1 stays outside: a command that is started in the container gets the namespaces
# of process 1, and has no right to change from a lower user namespace to the container's others.
if ! may_mount; then
	unshare --user --map-current-user --mount true ||
		die "this container may make no user namespace and has no CAP_SYS_ADMIN:" \
			"its seccomp or AppArmor profile forbids it (fsd-operate(7), CONTAINERS)"
	unshare --user --map-current-user --mount --keep-caps "$0" "$@" &
	inner=$!
	trap 'kill "$inner" 2>/dev/null || :' TERM INT
	trap 'kill -HUP "$inner" 2>/dev/null || :' HUP
	status=0
	end_of "$inner" || status=$?
	exit "$status"
fi
make_place
word=$1
shift
case $word in
serve) serve "$@" ;;
gateway) serve_gateway "$@" ;;
esac
