#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs fsd from the directory that this file lies in, as root, without a network. apt
# does it, with this directory as its only archive: the host's own configuration of apt
# stays as it is.
set -eu
LC_ALL=C
DEBIAN_FRONTEND=noninteractive
export LC_ALL DEBIAN_FRONTEND
here=$(cd "$(dirname "$0")" && pwd)
release=@RELEASE@

usage() {
	cat <<EOF
usage: install.sh [--no-image] [--gateway] [--key FILE] [--download-check]
  --no-image        without the guest image: \`fsd mount --image\` names another
  --gateway         fsd-gateway too
  --key FILE        the sums must be signed by a key in FILE, of gpg --export
  --download-check  only look whether every file is as it was made
EOF
}
die() {
	echo "install.sh: $*" >&2
	exit 1
}

image=fsd-image gateway= key= check=
while [ $# -gt 0 ]; do
	case $1 in
	--no-image) image= ;;
	--gateway) gateway=fsd-gateway ;;
	--key)
		[ $# -gt 1 ] || die '--key needs a file'
		key=$(realpath -- "$2")
		shift
		;;
	--download-check) check=1 ;;
	--help) usage && exit ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
done

# Debian 12 has gpgv for apt, Debian 13 has sqv.
is_signed() {
	if command -v gpgv >/dev/null; then
		gpgv --quiet --keyring "$key" SHA256SUMS.asc SHA256SUMS
	else
		sqv --keyring "$key" SHA256SUMS.asc SHA256SUMS
	fi
}

cd "$here"
if [ -n "$key" ]; then
	echo 'install.sh: checking the signature'
	[ -e SHA256SUMS.asc ] || die "the bundle is not signed; without --key it is installed so"
	is_signed || die "SHA256SUMS is not signed by a key in $key; take the bundle for another's"
fi
echo 'install.sh: checking the sums'
find . -type f ! -name SHA256SUMS ! -name SHA256SUMS.asc -printf '%P\n' | sort |
	xargs -d '\n' sha256sum | diff SHA256SUMS - >&2 ||
	die "the files are not those that were made; copy the bundle anew"
[ -z "$check" ] || exit 0

[ "$(id -u)" = 0 ] || die "only root can install packages; run it as root"
found=$(. /etc/os-release && echo "${ID:-?} ${VERSION_ID:-?}")
[ "$found" = "debian $release" ] ||
	die "this host is $found; this bundle is for debian $release"
found=$(dpkg --print-architecture)
[ "$found" = amd64 ] || die "this host is $found; this bundle is for amd64"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
# apt reads a link of a plain name, whatever the name of this directory is.
ln -s "$here" "$work/bundle"
echo "deb [trusted=yes] file:$work/bundle ./" >"$work/sources.list"
apt() {
	apt-get -q -y -o Dir::Etc::sourcelist="$work/sources.list" \
		-o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/lists" \
		-o Dir::Cache::archives="$work/archives" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Sandbox::User=root -o APT::Install-Recommends=false \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@"
}
qemu=
! grep -qx 'Package: fsd-qemu' "$here/Packages" || qemu=fsd-qemu
echo 'install.sh: installing'
# shellcheck disable=SC2086 # words
if ! { apt update && apt install fsd $qemu $image $gateway; } >"$work/log" 2>&1; then
	tail -n 20 "$work/log" >&2
	die 'apt-get failed; its last words are above'
fi
for environment in "$here"/environments/*.env; do
	[ ! -e "$environment" ] || fsd env import "$environment"
done
[ -n "$image" ] || exit 0
fsd doctor
