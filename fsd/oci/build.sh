#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh DEBS OUTDIR — makes OUTDIR/fsd-VERSION-amd64.tar, an image for containers: an OCI
# archive with the packages of DEBS (fsd/debian/build.sh) and all that these need of Debian.
# OUTDIR/fsd.yaml is the manifest for it.
# It runs as root, or as a user with subordinate ids (subuid(5)).
#
# The release is that of this host, and the packages come from the archives that apt is
# configured for. The same versions of packages give the same bytes.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "$0")" && pwd)
debs=$(realpath "${1:?usage: build.sh DEBS OUTDIR}")
out=$(realpath -m "${2:?usage: build.sh DEBS OUTDIR}")

die() {
	echo "oci: error: $*" >&2
	exit 1
}

shopt -s nullglob
ours=("$debs"/fsd*_amd64.deb)
shopt -u nullglob
[ ${#ours[@]} -gt 0 ] || die "$debs has no package of fsd; run: make deb"
version=$(dpkg-deb -f "$(printf '%s\n' "${ours[@]}" | grep /fsd_)" Version)
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$here/../debian/changelog" -S Timestamp)
export SOURCE_DATE_EPOCH
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
name=fsd-$version-amd64

work=$out/work
rm -rf "$work" "$out/$name.tar"
mkdir -p "$work/debs"
trap 'rm -rf "$work"' EXIT
cp "${ours[@]}" "$work/debs/"
chmod 711 "$out" "$work" && chmod -R a+rX "$work/debs"
(cd "$work/debs" && dpkg-scanpackages . /dev/null >Packages 2>"$out/log")

# shellcheck disable=SC2016 # expanded by apt-get
SOURCES=$(apt-get indextargets --format \
	'$(ORIGIN)|$(CODENAME)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
	'Created-By: Packages' |
	sed -n "s/^Debian|$codename\(-updates\|-security\)\?|//p" | grep ' main$' | sort -u)
export SOURCES
[ -n "$SOURCES" ] || die "apt has no archive of Debian $codename; run: apt-get update"

# The user of the image has the number that a pod's manifest names (fsd.yaml).
packages=$(cd "$work/debs" && for deb in *.deb; do dpkg-deb -f "$deb" Package; done | paste -sd,)
# shellcheck disable=SC2016 # $1 is the root, of mmdebstrap
mmdebstrap --format=tar --variant=essential --include="$packages" \
	--aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
	--skip=cleanup/run --customize-hook='rm -rf "$1/run/"* "$1/var/log/"*
		rm -rf "$1/var/cache/ldconfig/"* "$1/var/lib/dpkg/"*-old
		echo fsd:x:1000:1000::/var/lib/fsd:/bin/sh >>"$1/etc/passwd"
		echo fsd:x:1000: >>"$1/etc/group"
		install -d -o 1000 -g 1000 -m 755 "$1/run/fsd"
		install -d -o 1000 -g 1000 -m 700 "$1/var/lib/fsd"' \
	--customize-hook='printf "%s\n" "$SOURCES" >"$1/etc/apt/sources.list"' \
	--customize-hook="install -m 755 '$here/entry.sh' \"\$1/usr/bin/fsd-container\"" \
	"$codename" "$work/root.tar" - >>"$out/log" 2>&1 <<END || {
$SOURCES
deb [trusted=yes] copy:$work/debs ./
END
	tail -n 15 "$out/log" >&2
	die "mmdebstrap failed; all that it said is in $out/log"
}

cd "$work"
{
	umoci init --layout image
	umoci new --image image:fsd
	umoci raw add-layer --image image:fsd --history.created "$created" \
		--history.created_by 'make oci' root.tar
	umoci config --image image:fsd --no-history --created "$created" \
		--architecture amd64 --os linux \
		--config.user 1000:1000 --config.workingdir /var/lib/fsd \
		--config.entrypoint /usr/bin/fsd-container --config.cmd serve \
		--config.env PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		--config.env LC_ALL=C.UTF-8 --config.env HOME=/var/lib/fsd \
		--config.env FSD_MOUNT=/run/fsd/jobs \
		--config.exposedports 3000/tcp --config.volume /var/lib/fsd \
		--config.stopsignal SIGTERM \
		--config.label org.opencontainers.image.title=fsd \
		--config.label "org.opencontainers.image.version=$version"
	umoci gc --layout image
} >>"$out/log" 2>&1 || {
	tail -n 15 "$out/log" >&2
	die 'umoci failed'
}
# The name that `podman load` gives it.
sed -i "s|\"org.opencontainers.image.ref.name\":\"fsd\"|\"org.opencontainers.image.ref.name\":\"localhost/fsd:$version\"|" \
	image/index.json
grep -q "localhost/fsd:$version" image/index.json || die 'the index has no name'
tar -C image --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
	--mode=go=rX,u=rwX -cf "$out/$name.tar.new" .
mv "$out/$name.tar.new" "$out/$name.tar"
sed "s|@VERSION@|$version|" "$here/fsd.yaml" >"$out/fsd.yaml"
echo "$out/$name.tar: $(($(stat -c %s "$out/$name.tar") >> 20)) MiB, localhost/fsd:$version"
