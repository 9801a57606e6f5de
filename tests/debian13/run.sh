#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR — Debian 13 as the host, as root: a root file system of it is
# made (in OUTDIR, kept until what it is made of changes), the sources are built
# there without a warning, the unit tests run, and one job runs in a machine of
# its QEMU on the image in build/image. TAP on standard output.
#
# The packages come from the archives and by the lists of the image's build.
set -euo pipefail
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${1:?usage: run.sh OUTDIR}")
cache=$top/build/image-cache
root=$out/root
log=$out/log

mkdir -p "$out"
# names — what the Makefile installs on a Debian 13, without what makes
# images: the image is the host's.
names() {
	make -s -C "$top" DEBIAN=13 print-packages |
		tr ' ' '\n' | grep -vE '^(mmdebstrap|erofs-utils|e2fsprogs)$'
}

packages=$(names)
key=$(cat "$cache/sources.list" - <<<"$packages" |
	sha256sum | cut -c1-64)

make_root() {
	local lists=$cache/lists
	rm -rf "$root" "$out/key"
	mmdebstrap --mode=root --format=directory --variant=custom --skip=update \
		--aptopt='APT::Install-Recommends "false"' \
		--include="$(echo base-files base-passwd bash coreutils dash \
			diffutils dpkg findutils grep gzip hostname libc-bin mawk \
			perl-base sed tar util-linux usr-is-merged \
			git $packages | tr ' ' ',')" \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--setup-hook='mkdir -p "$1/var/lib/apt/lists" "$1/var/cache/apt/archives"' \
		--setup-hook="cp -p '$lists'/*_* \"\$1/var/lib/apt/lists/\"" \
		trixie "$root" - <"$cache/sources.list"
	echo "$key" >"$out/key"
}

# inside COMMAND — a shell's, in the root, with the host's devices, an empty /tmp
# and the image.
inside() {
	unshare --mount --propagation private bash -c '
		set -e
		mount --bind "$1" "$1"
		cd "$1"
		mkdir -p old image
		mount --rbind /dev dev
		mount --rbind /sys sys
		mount -t proc proc proc
		mount -t tmpfs tmpfs tmp
		mount --bind "$2" image
		pivot_root . old
		cd /src
		umount -l /old
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
			LC_ALL=C.UTF-8 FSD_IMAGE=/image bash -c "$3"
	' inside "$root" "$top/build/image" "$1"
}

copy_sources() {
	rm -rf "$root/src"
	mkdir "$root/src"
	git -C "$top" ls-files -z | tar -C "$top" --null -T - -cf - |
		tar -C "$root/src" -xf -
}

count=0
failed=0
# says NAME COMMAND... — one line of TAP, and the end of the log of what failed.
says() {
	local name=$1
	shift
	count=$((count + 1))
	if "$@" >"$log" 2>&1; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		tail -n 20 "$log" | sed 's/^/# /'
		failed=1
	fi
}

echo 'TAP version 13'
echo '1..5'
if [ "$(cat "$out/key" 2>/dev/null)" != "$key" ]; then
	says 'the packages that are named for Debian 13 can be installed there' \
		make_root
else
	says 'the packages that are named for Debian 13 are installed there' true
fi
copy_sources
says 'all compiles there without a warning' \
	inside 'make -j"$(nproc)" all unit'
says 'the unit tests pass there' inside '
	for test in build/release/tests/unit/*/*_test; do
		echo "# $test"
		timeout 120 "$test" || exit 1
	done'
says 'no QEMU is brought there: its own is maintained' \
	inside 'make qemu && ! [ -e build/qemu ]'
says 'jobs run there, on its own QEMU, in a restored and in a forked machine' \
	inside '
	set -e
	trap "build/fsd umount --now /tmp/mnt" EXIT
	mkdir /tmp/mnt
	printf "import sys\nprint(sys.version_info[:2])\n" >/tmp/code.py
	build/fsd doctor
	build/fsd mount --daemon --pool 1 --state /tmp/state /tmp/mnt
	timeout 300 build/fsd run --mount /tmp/mnt /tmp/code.py | grep -x "(3, 13)"
	timeout 300 sh -c "until grep -q \"^fsd_fork_sources 1\" /tmp/mnt/.fsd/stats
		do sleep 0.2; done"
	timeout 300 build/fsd run --mount /tmp/mnt /tmp/code.py | grep -x "(3, 13)"'
exit $failed
