#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# get.sh OUTDIR — CPython's own tests, of the version that the guest's Python has:
# Debian's package of them, from the archives and by the signed lists of the
# image's build, is unpacked to OUTDIR/VERSION; the last line is that path.
set -euo pipefail
export LC_ALL=C

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:?usage: get.sh OUTDIR}")
cache=$top/build/image-cache
list=${FSD_IMAGE:-$top/build/image}/packages.list

read -r stdlib version < <(grep -E '^libpython3\.[0-9]+-stdlib ' "$list")
package=${stdlib%-stdlib}-testsuite

if [ ! -d "$out/$version" ]; then
	rm -rf "$out"
	mkdir -p "$out/new"
	[ -e "$cache/sources.list" ] || {
		echo "there is no $cache/sources.list; run: make image" >&2
		exit 1
	}
	(cd "$out" && apt-get -q -o Dir::Etc::SourceList="$cache/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null \
		-o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State::status=/dev/null -o Dir::Cache="$cache/apt" \
		-o Dir::State::lists="$cache/lists" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none \
		-o Acquire::Retries=1 download "$package=$version") >&2
	dpkg-deb -x "$out"/*.deb "$out/new"
	rm "$out"/*.deb
	mv "$out/new" "$out/$version"
fi
echo "$out/$version"/usr/lib/python3.*/test
