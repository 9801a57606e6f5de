#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bring.sh OUTDIR — has the QEMU of Debian 13 in OUTDIR, with all that it needs, if
# the host's own is older than 10 or has not been renewed for long. It comes from the
# archives that the host's apt is configured for, under the names that they have there
# for Debian 13. Nothing is installed or compiled. Asked again, it brings a newer one
# when there is one; without a network what is there serves, and this says so.
#
#   OUTDIR/usr/bin/qemu-system-x86_64       as the package has it
#   OUTDIR/lib64/ld-linux-x86-64.so.2       the loader that starts it,
#   OUTDIR/usr/lib/x86_64-linux-gnu/lib*    and the libraries that it needs
#   OUTDIR/usr/share/qemu/                  the firmware of a microvm
#   OUTDIR/origin                           see vm/qemu/origin.h
#
# apt verifies the index by Debian's signature and each package by the index.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C TZ=UTC
umask 022

out=$(realpath -m "${1:?usage: bring.sh OUTDIR}")
new=$out.new
log=$out.log
package=qemu-system-x86
suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
wanted=10    # older ones are slow
old_days=120 # VM_QEMU_OLD_DAYS
program=usr/bin/qemu-system-x86_64
loader=lib64/ld-linux-x86-64.so.2
libraries=usr/lib/x86_64-linux-gnu
firmware=usr/share/qemu

say() { echo "qemu: $*"; }
# leave WHY — what there is serves.
leave() {
	rm -rf "$new"
	say "$*"
	exit 0
}
# keep WHY — no newer one can be had.
keep() {
	if [ -s "$log" ]; then
		sed 's/^/    /' "$log" | tail -n 3
	fi
	if is_whole "$out"; then
		leave "$*; what was brought is kept:" \
			"$(of "$out" version) of $(of "$out" date)"
	fi
	leave "$*; the host's own QEMU serves"
}
die() {
	echo "qemu: error: $*" >&2
	exit 1
}

# of DIR KEY — a value of its origin.
of() { sed -n "s/^$2 //p" "$1/origin"; }

# tree DIR ARGUMENT... — starts the one there, by its own loader.
tree() {
	local dir=$1
	shift
	"$dir/$loader" --library-path "$dir/$libraries" "$dir/$program" \
		-L "$dir/$firmware" "$@"
}

# is_whole DIR — its origin is right, it is as that says, and it runs here.
is_whole() {
	[ -s "$1/origin" ] && [ -n "$(of "$1" suite)" ] &&
		is_recent "$(of "$1" date)" 100000 &&
		is_recent "$(of "$1" asked)" 100000 &&
		of "$1" file |
		(cd "$1" && sha256sum --check --strict --status) 2>/dev/null &&
		tree "$1" --version 2>/dev/null |
		grep -qF "(Debian $(of "$1" version))"
}

# is_recent TIME DAYS
is_recent() {
	local at
	[[ $1 =~ ^(@[0-9]+|20[0-9-]+T[0-9:]+Z)$ ]] &&
		at=$(date -d "$1" +%s 2>/dev/null) &&
		[ $(($(date +%s) - at)) -lt $(($2 * 86400)) ]
}

# The host's own: its version for people, and that of its package.
own=$(command -v qemu-system-x86_64 || true)
own_says=$([ -z "$own" ] || "$own" --version 2>/dev/null | head -n 1 || true)
own_major=$(sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p' <<<"$own_says")
own_package=$(sed -n 's/.*(Debian \(.*\))$/\1/p' <<<"$own_says")

own_is_right() { [ "${own_major:-0}" -ge $wanted ]; }
own_is_current() {
	own_is_right && is_recent "@$(stat -L -c %Y "$own")" $old_days
}
# serve_own WHY
serve_own() {
	rm -rf "$out"
	leave "the host's own is $own_says, $*"
}

# bare_apt TOOL ARGUMENT... — apt with these sources only, as if nothing were
# installed.
bare_apt() {
	local tool=$1
	shift
	"$tool" -q -o Dir::Etc::SourceList="$new/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null \
		-o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State="$new" -o Dir::State::status="$new/status" \
		-o Dir::State::lists="$new/lists" -o Dir::Cache="$new/cache" \
		-o Debug::NoLocking=1 -o APT::Sandbox::User=root \
		-o APT::Install-Recommends=false -o Acquire::Languages=none \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o Acquire::Retries=1 -o Acquire::http::Timeout=20 \
		-o Acquire::https::Timeout=20 \
		-o APT::Update::Error-Mode=any "$@"
}

# sources — Debian's archives of this host, under their names for $suite.
sources() {
	# shellcheck disable=SC2016 # expanded by apt-get
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
		"Created-By: Packages" |
		sed -nE "s|^Debian [a-z]+(-updates\|-security)? ([^ ]+)\$|deb [signed-by=$keyring] \2 $suite\1 main|p" |
		sort -u >"$new/sources.list"
	[ -s "$new/sources.list" ]
}

# resolve — what it takes, as lines "NAME VERSION", the newest of all the archives.
resolve() {
	bare_apt apt-get -s install $package >"$new/simulated"
	sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' "$new/simulated" |
		sort >"$new/resolved"
	candidate=$(sed -n "s/^$package //p" "$new/resolved")
	from=$(bare_apt apt-cache madison $package |
		awk -F ' *[|] *' -v v="$candidate" \
			'$2 == v { sub(/^[^ ]* /, "", $3); sub("/.*", "", $3); print $3; exit }')
	[ -n "$candidate" ] && [ -n "$from" ]
}

ask() {
	rm -rf "$new"
	mkdir -p "$new"/{lists/partial,cache/archives/partial,debs}
	: >"$new/status"
	sources && bare_apt apt-get update && resolve
}

# is_same — each package that the tree has files of is the one that apt has chosen.
is_same() {
	[ -z "$(of "$out" deb | cut -d ' ' -f 1,2 | sort |
		comm -23 - "$new/resolved")" ]
}

# mark — its archive had no newer one now.
mark() {
	sed "s/^asked .*/asked $(date +%FT%TZ)/" "$out/origin" >"$out/.origin"
	mv "$out/.origin" "$out/origin"
}

# fetch — the packages, unpacked in $new/all; which file is of which is in $new/of.
fetch() {
	local deb
	bare_apt apt-get -y --download-only install $package || return 1
	mkdir "$new/all"
	for deb in "$new"/cache/archives/*.deb; do
		dpkg-deb -X "$deb" "$new/all" |
			sed -n "s|^\./\(.*[^/]\)\$|\1\t${deb##*/}|p" \
				>>"$new/of" || return 1
	done
}

# take PATH AS — a file of the packages into the tree, where it was found by its
# links.
take() {
	local real
	real=$(realpath -e --relative-to="$new/all" "$new/all/$1")
	[[ $real != ../* ]] || return 1
	install -D -p -m "$(stat -c %a "$new/all/$real")" "$new/all/$real" \
		"$new/tree/$2"
	printf '%s\t%s\n' "$2" "$real" >>"$new/taken"
}

# pick — of all that was unpacked what QEMU needs: its loader names the libraries.
pick() {
	local library
	"$new/all/$libraries/${loader##*/}" --library-path "$new/all/$libraries" \
		--list "$new/all/$program" >"$new/needed" || return 1
	! grep 'not found' "$new/needed" || return 1
	take "$program" "$program" &&
		take "$libraries/${loader##*/}" "$loader" &&
		take "$firmware/qboot.rom" "$firmware/bios-microvm.bin" || return 1
	while read -r library; do
		take "$libraries/$library" "$libraries/$library" || return 1
	done < <(sed -n 's|^\s*\(lib[^ /]*\) => /.*|\1|p' "$new/needed")
}

# describe — the tree's origin.
describe() {
	local deb
	echo "package $package"
	echo "version $candidate"
	echo "suite $from"
	echo "date $(date -d "@$(stat -c %Y "$new/tree/$program")" +%FT%TZ)"
	echo "asked $(date +%FT%TZ)"
	cut -f 2 "$new/taken" | sort -u |
		awk -F '\t' 'NR == FNR { is[$1] = 1; next } $1 in is { print $2 }' \
			- "$new/of" | sort -u |
		while read -r deb; do
			echo "deb $(dpkg-deb -f "$new/cache/archives/$deb" \
				Package Version | sed 's/^[^ ]* //' | xargs)" \
				"$(sha256sum <"$new/cache/archives/$deb" |
					cut -c1-64)"
		done
	(cd "$new/tree" && find . -type f ! -name origin -printf '%P\n' | sort |
		xargs -d '\n' sha256sum) | sed 's/^/file /'
}

# is_right DIR — it makes a microvm under emulation, with nothing of the host's.
is_right() {
	[ -z "$("$1/$loader" --library-path "$1/$libraries" --list \
		"$1/$program" | grep '=> /' | grep -vF "=> $1/")" ] &&
		timeout 60 "$1/$loader" --library-path "$1/$libraries" \
			"$1/$program" -L "$1/$firmware" -nodefaults \
			-no-user-config -display none -S -machine microvm \
			-accel tcg -monitor stdio <<<quit
}

make_tree() {
	fetch && pick && describe >"$new/origin" &&
		mv "$new/origin" "$new/tree/origin" && is_right "$new/tree"
}

main() {
	! own_is_current || serve_own "renewed less than $old_days days ago"
	mkdir -p "$(dirname "$out")" && [ -w "$(dirname "$out")" ] ||
		die "$(dirname "$out") cannot be written; run this as its owner"
	exec 9>"$out.lock"
	flock -w 900 9 || die "somebody else brings one: $out.lock is held"
	if is_whole "$out" && is_recent "$(of "$out" asked)" 1; then
		leave "up to date: $out, $(of "$out" version) of" \
			"$(of "$out" date); the archive was asked today"
	fi
	: >"$log"
	command -v apt-get dpkg-deb >/dev/null || keep "this is no Debian"
	ask >"$log" 2>&1 || keep "no archive of Debian answers"
	if own_is_right && [ -n "$own_package" ] &&
		dpkg --compare-versions "$own_package" ge "$candidate"; then
		serve_own "and no archive has a newer one"
	fi
	if is_whole "$out" && is_same; then
		mark
		leave "no archive has a newer one: $out, $(of "$out" version) of" \
			"$(of "$out" date)"
	fi
	make_tree >"$log" 2>&1 || keep "$candidate of $from does not run here"
	rm -rf "$out"
	mv "$new/tree" "$out"
	rm -rf "$new"
	say "$out: $candidate of $from, of $(of "$out" date)"
}

main
