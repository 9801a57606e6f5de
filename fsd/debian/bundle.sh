#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bundle.sh DEBS OUTDIR [ENVIRONMENT...] — one file that installs fsd on a host without a
# network: fsd-VERSION-debianRELEASE-amd64.tar, with the packages of DEBS (build.sh) and
# every package that these need. The named environments are in it as `fsd env export` has
# them. Packages of the others come from the archives that apt is configured for.
#
#   RELEASE     the release of Debian, if it is not that of this host; APT_CONFIG then
#               names an apt.conf(5) with its archives and lists
#   KEY         a key of gpg: SHA256SUMS.asc is its signature, and other bytes each time
#
# The closure is computed against an empty status file. One that is computed against what
# a host has installed lacks packages on a barer host.
# The same versions of packages give the same bytes.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
debs=$(realpath "${1:?usage: bundle.sh DEBS OUTDIR [ENVIRONMENT...]}")
out=$(realpath -m "${2:?usage: bundle.sh DEBS OUTDIR [ENVIRONMENT...]}")
shift 2
release=${RELEASE:-$(. /etc/os-release && echo "$VERSION_ID")}
archives=$out/archives-$release

die() {
	echo "bundle: error: $*" >&2
	exit 1
}

shopt -s nullglob
ours=("$debs"/fsd*_amd64.deb)
shopt -u nullglob
[ ${#ours[@]} -gt 0 ] || die "$debs has no package of fsd; run: make deb"
version=$(dpkg-deb -f "$(printf '%s\n' "${ours[@]}" | grep /fsd_)" Version)
epoch=$(dpkg-parsechangelog -l "$here/changelog" -S Timestamp)
name=fsd-$version-debian$release-amd64

work=$out/$name
rm -rf "$work" "$out/$name.tar"
mkdir -p "$work/debs" "$archives/partial"
trap 'rm -rf "$work"' EXIT
: >"$out/status"

# closure — downloads all that ours need, into $archives.
closure() {
	apt-get -q -y -o Dir::State::status="$out/status" \
		-o Dir::Cache::archives="$archives" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o Dir::State::extended_states="$out/extended" \
		-o APT::Keep-Downloaded-Packages=true -o Binary::apt-get::APT::Keep-Downloaded-Packages=true \
		-o APT::Sandbox::User=root -o Debug::NoLocking=true \
		-o APT::Install-Recommends=false -o APT::Architectures=amd64 \
		-o APT::Get::AllowUnauthenticated=false \
		"$@" install "${ours[@]}"
}

closure --download-only >"$out/log" 2>&1 || {
	tail -n 15 "$out/log" >&2
	die "apt-get could not fetch what fsd needs; renew its lists: apt-get update"
}
# Of what lies in $archives only this closure.
closure --simulate >"$out/plan" 2>>"$out/log"
awk '$1 == "Inst" { print $2, substr($3, 2) }' "$out/plan" |
	while read -r package wanted; do
		file=$archives/${package%%:*}_${wanted//:/%3a}_
		for deb in "$file"*.deb "$debs/${package}_${wanted}"_*.deb; do
			[ ! -e "$deb" ] || cp "$deb" "$work/debs/"
		done
	done
count=$(grep -c '^Inst' "$out/plan")
[ "$(find "$work/debs" -name '*.deb' | wc -l)" = "$count" ] ||
	die "of $count packages $(find "$work/debs" -name '*.deb' | wc -l) are there"

# As in an archive of Debian: without the epoch, which has a colon.
(cd "$work/debs" && for deb in *%3a*; do
	[ ! -e "$deb" ] || mv "$deb" "${deb%%_*}_${deb#*%3a}"
done)
(cd "$work" && dpkg-scanpackages --multiversion debs /dev/null >Packages 2>>"$out/log")

for environment; do
	mkdir -p "$work/environments"
	"$top/build/fsd" env export "$environment" "$work/environments/$environment.env"
done

signed=
[ -z "${KEY:-}" ] || signed="    gpgv --keyring FILE SHA256SUMS.asc SHA256SUMS
                                the sums are of a key in FILE. Debian 13 has sqv instead,
                                with the same arguments. Do so before you run install.sh.
"
sed "s/@RELEASE@/$release/" "$here/install.sh" >"$work/install.sh"
chmod 755 "$work/install.sh"
cat >"$work/README" <<EOF
fsd $version for Debian $release (amd64), for a host without a network.

$signed    sha256sum -c SHA256SUMS     every file is as it was made (install.sh does so too)
    ./install.sh                as root: installs fsd, its image and all that it needs
    ./install.sh --help         what else there is

It has $count packages. The host's own configuration of apt stays as it is.
EOF
(cd "$work" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort |
	xargs -d '\n' sha256sum >SHA256SUMS)
[ -z "${KEY:-}" ] || gpg --batch --yes --local-user "$KEY" --armor --detach-sign \
	--output "$work/SHA256SUMS.asc" "$work/SHA256SUMS"

tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" \
	-cf "$out/$name.tar.new" "$name"
mv "$out/$name.tar.new" "$out/$name.tar"
echo "$out/$name.tar: $count packages, $(($(stat -c %s "$out/$name.tar") >> 20)) MiB"
