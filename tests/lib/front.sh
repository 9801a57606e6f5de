#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# front.sh [OPTION...] -- COMMAND... — runs COMMAND with `fsd gateway OPTION...` in front
# of $FSD_MOUNT. Both are in a network of their own, so that nobody else has the ports.
# FSD names the program, build/fsd by default.
set -euo pipefail

if [ "${1:-}" != --inside ]; then
	user=()
	[ "$(id -u)" = 0 ] || user=(-r)
	exec unshare "${user[@]}" -n "$0" --inside "$@"
fi
shift
/usr/bin/python3 -B -c 'import fcntl, socket, struct
up = struct.pack("16sH14x", b"lo", 1)
fcntl.ioctl(socket.socket(), 0x8914, up)  # SIOCSIFFLAGS, IFF_UP'

options=()
while [ "$1" != -- ]; do
	options+=("$1")
	shift
done
shift
fsd=${FSD:-$(dirname "$0")/../../build/fsd}
log=$(mktemp -d)
mkfifo "$log/words"
"${fsd%/*}/fsd-gateway" --mount "$FSD_MOUNT" "${options[@]}" 2>"$log/words" &
gateway=$!
# shellcheck disable=SC2317
finish() {
	kill "$gateway" 2>/dev/null || true
	wait "$gateway" || true
	rm -r "$log"
}
trap finish EXIT

exec {words}<"$log/words"
while IFS= read -r line <&"$words"; do
	echo "$line" >>"$log/log"
	case $line in *' ready: '*) break ;; esac
done
kill -0 "$gateway" 2>/dev/null || {
	cat "$log/log" >&2
	exit 1
}
cat <&"$words" >>"$log/log" &
exec {words}<&-

export E2B_API_KEY=e2b_0000000000000000000000000000000000000000
status=0
"$@" || status=$?
[ "$status" = 0 ] || cat "$log/log" >&2
exit "$status"
