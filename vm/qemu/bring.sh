#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bring.sh OUTDIR — has a QEMU in OUTDIR if the host's own is older than 10:
# that of the backports of the host's Debian, from the archive that its apt is
# configured for. Nothing is installed. Where that cannot be had the host's own
# serves, and this says so.
#
#   OUTDIR/bin/qemu-system-x86_64[-microvm]   as the package has them
#   OUTDIR/share/qemu                         a link to the host's firmware
#   OUTDIR/origin                             package, version, SHA-256 of it
#
# apt verifies the index by Debian's signature and the package by the index.
set -euo pipefail
export LC_ALL=C

out=$(realpath -m "${1:?usage: bring.sh OUTDIR}")
new=$out.new
package=qemu-system-x86
wanted=10

say() { echo "qemu: $*"; }
# leave WHY — the host's own is what there is.
leave() {
	rm -rf "$new"
	say "$*"
	exit 0
}

# is_right PROGRAM — it runs, and is new enough.
is_right() {
	local version
	version=$("$1" --version 2>/dev/null |
		sed -n '1s/^QEMU emulator version \([0-9]*\).*/\1/p')
	[ "${version:-0}" -ge $wanted ]
}

# is_current — what was brought is what the archive had when the host last asked.
is_current() {
	is_right "$out/bin/qemu-system-x86_64" &&
		[ -z "$(find /var/lib/apt/lists -maxdepth 1 -type f \
			-name '*Packages*' -newer "$out/origin" -print -quit)" ]
}

bare_apt() {
	apt-get -q -o "Dir::Etc::SourceList=$new/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::State::lists="$new/lists" \
		-o Dir::Cache="$new/cache" -o APT::Sandbox::User=root \
		-o Acquire::Retries=1 -o APT::Update::Error-Mode=any "$@"
}

# fetch — the package, in $new.
fetch() {
	local archive
	# shellcheck disable=SC2016 # expanded by apt-get
	archive=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE)' \
		"Created-By: Packages" |
		sed -nE 's|^Debian ([^ ]+) ([a-z]+)$|\1 \2-backports|p' | sort -u |
		head -n 1)
	[ -n "$archive" ] || return 1
	rm -rf "$new"
	mkdir -p "$new"/{lists/partial,cache/archives/partial,bin,share}
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
		"$archive main" >"$new/sources.list"
	bare_apt update && (cd "$new" && bare_apt download $package)
}

unpack() {
	dpkg-deb -x "$new"/${package}_*.deb "$new/unpacked"
	mv "$new"/unpacked/usr/bin/qemu-system-x86_64* "$new/bin/"
	ln -s /usr/share/qemu "$new/share/qemu"
	echo "$package $(dpkg-deb -f "$new"/${package}_*.deb Version)" \
		"$(sha256sum <"$(echo "$new"/${package}_*.deb)" | cut -c1-64)" \
		>"$new/origin"
	rm -rf "$new"/{unpacked,lists,cache,sources.list} "$new"/${package}_*.deb
}

main() {
	if is_right qemu-system-x86_64; then
		rm -rf "$out"
		leave "the host's own is QEMU $wanted or newer"
	fi
	! is_current || leave "up to date: $out"
	command -v apt-get dpkg-deb >/dev/null ||
		leave "this is no Debian; the host's own QEMU serves"
	mkdir -p "$(dirname "$out")"
	if ! fetch >"$out.log" 2>&1; then
		sed 's/^/    /' "$out.log" | tail -n 3
		leave "no archive has a newer one; what is there serves"
	fi
	unpack
	is_right "$new/bin/qemu-system-x86_64" ||
		leave "the one of the backports does not run here; the host's" \
			"own serves"
	rm -rf "$out"
	mv "$new" "$out"
	say "$(cat "$out/origin")"
}

main
