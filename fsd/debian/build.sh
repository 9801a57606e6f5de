#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUTDIR — makes Debian's packages of the sources that it lies in, for the release
# that it runs on, and leaves them in OUTDIR: fsd, fsd-gateway; fsd-image if build/image is
# there; fsd-qemu if a QEMU was brought to build/qemu. It needs no root.
#
# debian/ must lie at the top of the sources, and the top of this repository is fixed: so
# the sources are copied to OUTDIR/work, and this directory is moved up there.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C
umask 022

top=$(cd "$(dirname "$0")/../.." && pwd)
out=$(realpath -m "${1:?usage: build.sh OUTDIR}")

die() {
	echo "deb: error: $*" >&2
	exit 1
}

version=$(dpkg-parsechangelog -l "$top/fsd/debian/changelog" -S Version)
own=$(sed -n 's/^#define FSD_VERSION "\(.*\)"$/\1/p' "$top/layout/base/version.h")
[ "$version" = "$own" ] ||
	die "fsd/debian/changelog is of $version, layout/base/version.h of $own;" \
		"both must name the same version"

work=$out/work
source=$work/fsd-$version
rm -rf "$work"
mkdir -p "$source"
# sources — of git those that it knows; else all but what was built.
sources() {
	if git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$top" ls-files -z --cached --others --exclude-standard
	else
		find "$top" -mindepth 1 -name build -prune -o \
			! -type d -printf '%P\0'
	fi
}
(cd "$top" && sources | while IFS= read -r -d '' file; do
	[ ! -e "$file" ] || printf '%s\0' "$file"
done | tar --null -T - -cf -) | tar -C "$source" -xf -
mv "$source/fsd/debian" "$source/debian"

profiles=
if [ -e "$top/build/image/manifest" ]; then
	profiles+=' pkg.fsd.image'
	mkdir -p "$source/build"
	cp -R "$top/build/image" "$source/build/image"
fi
if [ -e "$top/build/qemu/origin" ]; then
	profiles+=' pkg.fsd.qemu'
	mkdir -p "$source/build"
	cp -R "$top/build/qemu" "$source/build/qemu"
fi

if ! (cd "$source" &&
	DEB_BUILD_PROFILES=${profiles# } \
		DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" \
		dpkg-buildpackage --build=binary --no-sign --no-pre-clean) \
	>"$out/log" 2>&1; then
	tail -n 30 "$out/log" >&2
	die "dpkg-buildpackage failed; all that it said is in $out/log"
fi
rm -f "$out"/fsd*.deb "$out"/fsd_*.changes "$out"/fsd_*.buildinfo
mv "$work"/fsd*.deb "$work"/fsd_*.changes "$work"/fsd_*.buildinfo "$out"
rm -rf "$work"
(cd "$out" && ls -- *.deb)
