#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# check-reproducible.sh --init FILE [--runners DIR]: builds the image twice from
# nothing, at another path, under another umask and time zone and, where there
# is room, on another kind of file system (which lists directories in another
# order), and compares the results byte by byte. TAP on standard output.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
one=$(mktemp -d "${TMPDIR:-/var/tmp}/fsd-image-one.XXXXXX")
other_base=${TMPDIR:-/var/tmp}
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] &&
	[ "$(df --output=avail -m /dev/shm | tail -n 1)" -gt 2000 ]; then
	other_base=/dev/shm
fi
two=$(mktemp -d "$other_base/fsd-image-another.XXXXXX")
trap 'rm -rf "$one" "$two"' EXIT

echo "TAP version 13"
echo "1..2"
"$here/build.sh" "$one/image" --cache "$one/cache" "$@" | sed 's/^/# /'
(umask 077 && TZ=Asia/Tokyo LANG=C.UTF-8 "$here/build.sh" "$two/image" \
	--cache "$two/cache" "$@") | sed 's/^/# /'

failed=0
if /usr/bin/python3 "$here/manifest.py" check "$one/image" | sed 's/^/# /'; then
	echo "ok 1 - the parts are what the manifest says"
else
	echo "not ok 1 - the parts are what the manifest says"
	failed=1
fi
if different=$(diff -rq "$one/image" "$two/image"); then
	echo "ok 2 - two builds from the same inputs give the same bytes"
else
	echo "${different//#/}" | sed 's/^/# /'
	# Which files below the root differ, for whoever has to mend it.
	diff -rq --no-dereference "$one"/cache/tree-* "$two"/cache/tree-* |
		grep -v 'is a socket\|is a fifo' | head -n 20 |
		sed 's/^/# /' || true
	echo "not ok 2 - two builds from the same inputs give the same bytes"
	failed=1
fi
exit $failed
