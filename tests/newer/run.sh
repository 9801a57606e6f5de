#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR COMMAND... — runs the command, as root, where QEMU is that of
# Debian's backports: a mount that only the command sees. The package comes from
# the archive that this host's apt is configured for and is kept in OUTDIR;
# nothing is installed.
set -euo pipefail
export LC_ALL=C

out=$(realpath -m "${1:?usage: run.sh OUTDIR COMMAND...}")
shift
[ "$(id -u)" = 0 ] || {
	echo 'newer: error: a mount of its own takes root' >&2
	exit 1
}

fetch() {
	local suite uri
	# shellcheck disable=SC2016 # expanded by apt-get
	read -r uri suite < <(
		apt-get indextargets --format '$(REPO_URI) $(RELEASE)' |
			grep -m 1 -E ' [a-z]+$') || {
		echo 'newer: error: apt knows no archive; run: apt-get update' >&2
		return 1
	}
	rm -rf "$out"
	mkdir -p "$out"/{lists/partial,packages}
	echo "deb $uri $suite-backports main" >"$out/sources.list"
	local options=(-q -o "Dir::Etc::sourcelist=$out/sources.list"
		-o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root
		-o "Dir::State::lists=$out/lists")
	apt-get "${options[@]}" update
	(cd "$out/packages" && apt-get "${options[@]}" download qemu-system-x86)
	dpkg -x "$out"/packages/qemu-system-x86_*.deb "$out/root"
	touch "$out/complete"
}

mkdir -p "$(dirname "$out")"
[ -e "$out/complete" ] || fetch >"$out.log" 2>&1 || {
	cat "$out.log" >&2
	exit 1
}
# From a file system of its own, so that no place of this host shows in a jail.
mkdir -p "$out/mnt"
# shellcheck disable=SC2016 # expanded inside
exec unshare --mount --propagation private bash -c '
	set -e
	mount -t tmpfs newer "$2"
	cp "$1" "$2/qemu"
	mount --bind "$2/qemu" "$(readlink -f "$(command -v qemu-system-x86_64)")"
	shift 2
	qemu-system-x86_64 --version
	exec "$@"
' newer "$out/root/usr/bin/qemu-system-x86_64" "$out/mnt" "$@"
