#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The QEMU that is brought: what vm/qemu/bring.sh makes of an archive, and what `fsd
# qemu` and `fsd doctor` say of it. The archive is a directory of tiny packages, and
# apt a script that knows it.

load ../lib/common

BRING=$BATS_TEST_DIRNAME/../../vm/qemu/bring.sh
PROGRAM=usr/bin/qemu-system-x86_64
OLD='1:10.0.2~ds-2'
NEW='1:10.0.13~ds-0'

# qemu_of VERSION — its --version.
qemu_of() {
	local upstream=${1#*:}
	echo "QEMU emulator version ${upstream%%~*} (Debian $1)"
}

# package NAME VERSION ROOT — as dpkg-deb makes it, in the archive.
package() {
	mkdir -p "$3/DEBIAN" "$ARCHIVE"
	printf '%s\n' "Package: $1" "Version: $2" 'Architecture: amd64' \
		'Maintainer: tests' 'Description: of a test' >"$3/DEBIAN/control"
	rm -f "$ARCHIVE/$1"_*
	dpkg-deb -Znone --root-owner-group -b "$3" \
		"$ARCHIVE/$1_${2//:/%3a}_amd64.deb" >/dev/null
}

# qemu_package VERSION DATE — a program that says its version.
qemu_package() {
	local root=$BATS_FILE_TMPDIR/qemu.$1
	mkdir -p "$root/usr/bin"
	[ -e "$root/$PROGRAM" ] || gcc -O0 -o "$root/$PROGRAM" -x c - <<-END
		#include <stdio.h>
		#include <string.h>
		int main(int n, char **v)
		{
			if (n > 1 && !strcmp(v[n - 1], "--version"))
				puts("$(qemu_of "$1")");
			return 0;
		}
	END
	touch -d "$2" "$root/$PROGRAM"
	package qemu-system-x86 "$1" "$root"
}

setup_file() {
	local lib=$BATS_FILE_TMPDIR/libc/usr/lib/x86_64-linux-gnu
	local data=$BATS_FILE_TMPDIR/data/usr/share/qemu
	local more=$BATS_FILE_TMPDIR/more/usr/bin
	export ARCHIVE=$BATS_FILE_TMPDIR/archive
	mkdir -p "$lib" "$data" "$more"
	cp -L /lib64/ld-linux-x86-64.so.2 "$lib/"
	cp -L "$(gcc -print-file-name=libc.so.6)" "$lib/libc.so.6"
	echo firmware >"$data/qboot.rom"
	echo more >"$more/more"
	package libc6 2.41-12 "$BATS_FILE_TMPDIR/libc"
	package qemu-system-data "$OLD" "$BATS_FILE_TMPDIR/data"
	package more 1 "$BATS_FILE_TMPDIR/more"
	qemu_package "$OLD" "$(date -d '40 days ago' +%F)"
	cp -a "$ARCHIVE" "$BATS_FILE_TMPDIR/first"
	mkdir "$BATS_FILE_TMPDIR/bin"
	cat >"$BATS_FILE_TMPDIR/bin/apt-get" <<-'END'
		#!/bin/bash
		# The same words from apt, as far as bring.sh uses it.
		for word in "$@"; do
			case $word in
			Dir::Cache=*) cache=${word#*=} ;;
			indextargets) echo 'Debian bookworm file:/archive/'; exit ;;
			update) [ ! -e "$APT_OFFLINE" ]; exit ;;
			-s) simulate=1 ;;
			--download-only) echo fetched >>"$APT_LOG"; cp "$ARCHIVE"/*.deb "$cache/archives/"; exit ;;
			esac
		done
		[ "$simulate" ] && for deb in "$ARCHIVE"/*.deb; do
			echo "Inst $(dpkg-deb -f "$deb" Package) ($(dpkg-deb -f "$deb" Version) Debian:13/stable [amd64])"
		done
	END
	cat >"$BATS_FILE_TMPDIR/bin/apt-cache" <<-'END'
		#!/bin/bash
		version=$(dpkg-deb -f "$ARCHIVE"/qemu-system-x86_*.deb Version)
		case " $* " in
		*' madison '*) echo "qemu-system-x86 | $version | file:/archive trixie/main amd64 Packages" ;;
		*' policy '*) printf '%s:\n  Installed: %s\n  Candidate: %s\n' qemu-system-x86 "$APT_INSTALLED" "$APT_CANDIDATE" ;;
		esac
	END
	chmod +x "$BATS_FILE_TMPDIR"/bin/*
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	cp -a "$BATS_FILE_TMPDIR/first" archive
	export ARCHIVE=$PWD/archive APT_OFFLINE=$PWD/offline APT_LOG=$PWD/apt.log
	export APT_INSTALLED='(none)' APT_CANDIDATE='(none)'
	export PATH=$PWD/bin:$BATS_FILE_TMPDIR/bin:$PATH
	mkdir bin
	own '1:7.2+dfsg-7' '1 day ago'
	: >apt.log
}

# own VERSION DATE — the host's own QEMU.
own() {
	printf '#!/bin/sh\necho "%s"\n' "$(qemu_of "$1")" >bin/qemu-system-x86_64
	chmod +x bin/qemu-system-x86_64
	touch -d "$2" bin/qemu-system-x86_64
}

bring() { run bounded 60 "$BRING" tree; }
# asked WHEN — as if the archive had been asked then.
asked() { sed -i "s/^asked .*/asked $(date -u -d "$1" +%FT%TZ)/" tree/origin; }
# says_it_is VERSION — what the brought one says, by its own loader.
says_it_is() {
	run tree/lib64/ld-linux-x86-64.so.2 --library-path \
		tree/usr/lib/x86_64-linux-gnu "tree/$PROGRAM" --version
	assert_output "$(qemu_of "$1")"
}
fetches() { grep -c fetched apt.log || true; }
# doctor QEMU — its line for that one.
doctor() {
	run bash -c 'FSD_QEMU=$1 FSD_IMAGE=none "$2" doctor | grep "^qemu "' - "$1" "$FSD"
}

@test "a newer QEMU is brought with its own loader and libraries, and with nothing else" {
	bring
	assert_success
	assert_output --regexp "^qemu: $PWD/tree: $OLD of trixie, of [0-9-]+T"
	run bash -c 'cd tree && find . -type f -printf "%P\n" | sort'
	assert_output "lib64/ld-linux-x86-64.so.2
origin
$PROGRAM
usr/lib/x86_64-linux-gnu/libc.so.6
usr/share/qemu/bios-microvm.bin"
	says_it_is "$OLD"
	run cat tree/origin
	assert_line "version $OLD"
	assert_line 'suite trixie'
	assert_line --regexp '^deb libc6 2.41-12 [0-9a-f]{64}$'
	refute_line --partial 'deb more'
	assert_line "file $(sha256sum "tree/$PROGRAM" | sed 's/ .*//')  $PROGRAM"
	run "$FSD" qemu verify tree
	assert_output 'tree: 4 files are as they were brought'
	[ ! -e tree.new ]
}

@test "asked again on another day, the same command brings a newer one, of a library too" {
	bring
	bring
	assert_output --partial 'the archive was asked today'
	asked '2 days ago'
	bring
	assert_output --partial 'no archive has a newer one'
	grep -q "^asked $(date -u +%F)" tree/origin
	assert_equal "$(fetches)" 1
	package libc6 2.41-12+deb13u1 "$BATS_FILE_TMPDIR/libc"
	asked '2 days ago'
	bring
	assert_equal "$(fetches)" 2
	grep -q '^deb libc6 2.41-12+deb13u1 ' tree/origin
	# what no file is of does not count
	package more 2 "$BATS_FILE_TMPDIR/more"
	asked '2 days ago'
	bring
	assert_equal "$(fetches)" 2
	qemu_package "$NEW" '3 days ago'
	asked '2 days ago'
	bring
	assert_output --partial "$NEW of trixie"
	says_it_is "$NEW"
}

@test "without a network what was brought is kept, and without one the host's own serves" {
	touch offline
	bring
	assert_success
	assert_output --partial "no archive of Debian answers; the host's own QEMU serves"
	[ ! -e tree ]
	rm offline
	bring
	touch offline
	asked '2 days ago'
	bring
	assert_success
	assert_output --partial "no archive of Debian answers; what was brought is kept: $OLD of 20"
	says_it_is "$OLD"
}

@test "one that was damaged, or whose origin is odd, is brought anew" {
	local how count=1
	bring
	for how in 'echo x >>tree/usr/share/qemu/bios-microvm.bin' \
		'rm tree/usr/lib/x86_64-linux-gnu/libc.so.6' 'rm tree/origin' \
		'sed -i "s/^date .*/date yesterday/" tree/origin' \
		'sed -i "s/^version .*/version 2/" tree/origin'; do
		bash -c "$how"
		bring
		assert_success
		count=$((count + 1))
		assert_equal "$(fetches)" "$count"
		run "$FSD" qemu verify tree
		assert_success
	done
}

@test "one that does not run here is not taken" {
	bring
	printf 'no program' >"$BATS_TEST_TMPDIR/none"
	install -D none "broken/$PROGRAM"
	package qemu-system-x86 "$NEW" broken
	asked '2 days ago'
	bring
	assert_success
	assert_output --partial "$NEW of trixie does not run here; what was brought is kept: $OLD"
	says_it_is "$OLD"
}

@test "the host's own serves while it is 10 or newer and was renewed lately" {
	bring
	[ -e tree ]
	own "$OLD" '119 days ago'
	bring
	assert_output --partial "the host's own is QEMU emulator version 10.0.2"
	[ ! -e tree ]
	assert_equal "$(fetches)" 1
	# one of a backport that nobody renews
	own "$OLD" '130 days ago'
	qemu_package "$NEW" '3 days ago'
	bring
	assert_output --partial "$NEW of trixie"
	says_it_is "$NEW"
	own "$NEW" '130 days ago'
	asked '2 days ago'
	bring
	assert_output --partial 'and no archive has a newer one'
	[ ! -e tree ]
}

@test "doctor says where the QEMU is from and how old it is, and names the remedy" {
	bring
	doctor "tree/$PROGRAM"
	assert_output --regexp "^qemu +ok +QEMU 10.0.2, $PWD/tree/$PROGRAM: --qemu names it; package $OLD of Debian's trixie, of 20[0-9-]+, (39|40) days old; no newer one was in its archive on $(date -u +%F)\$"
	# old, and nobody has asked since
	sed -i 's/^date .*/date 2026-01-01T00:00:00Z/' tree/origin
	asked '40 days ago'
	doctor "tree/$PROGRAM"
	assert_output --regexp '^qemu +note .* of 2026-01-01, [0-9]+ days old; .*`fsd qemu bring` brings a newer one'
	asked '1 day ago'
	doctor "tree/$PROGRAM"
	assert_output --regexp '^qemu +ok .* of 2026-01-01, [0-9]+ days old; no newer one was in its archive on '
}

@test "doctor says that an origin is odd or not there, and that a file was changed" {
	local how
	bring
	cp tree/origin whole
	for how in 'echo "date never" >>tree/origin' ': >tree/origin' \
		'head -c 100000 /dev/zero >tree/origin' \
		'sed -i "s/^version .*/version 1:9/" tree/origin' \
		'rm tree/origin; mkdir tree/origin' 'rmdir tree/origin'; do
		bash -c "$how"
		doctor "tree/$PROGRAM"
		assert_output --regexp '^qemu +note .*, of unknown age; its origin is not right: .*; `fsd qemu bring` brings it anew$'
		run "$FSD" qemu verify tree
		[ "$status" = 1 ] || [[ $how == *date* || $how == *version* ]]
	done
	cp whole tree/origin
	echo x >>tree/usr/share/qemu/bios-microvm.bin
	doctor "tree/$PROGRAM"
	assert_output --regexp '^qemu +MISSING .*bios-microvm.bin is not as it was brought.*`fsd qemu bring`'
	run "$FSD" qemu verify tree
	assert_failure 1
}

@test "doctor tells the age of the host's own by its package, and what apt knows" {
	own "$OLD" '10 days ago'
	doctor bin/qemu-system-x86_64
	assert_output --regexp "^qemu +ok .*; Debian's package $OLD, of 20[0-9-]+, (9|10) days old\$"
	own "$OLD" '300 days ago'
	doctor bin/qemu-system-x86_64
	assert_output --regexp '^qemu +note .* days old; .*`fsd qemu bring` brings a newer one'
	own "$OLD" '10 days ago'
	APT_INSTALLED=$OLD APT_CANDIDATE=$NEW doctor bin/qemu-system-x86_64
	assert_output --regexp "^qemu +note .*; apt knows $NEW: .apt-get install qemu-system-x86. brings it\$"
}

@test "fsd qemu refuses what it does not know, and says what is missing" {
	run "$FSD" qemu
	assert_failure 2
	run "$FSD" qemu fetch
	assert_failure 2
	run "$FSD" qemu list nowhere
	assert_failure 1
	assert_output --partial 'nowhere/origin: No such file or directory; `fsd qemu bring` brings one'
	bring
	run "$FSD" qemu list tree
	assert_line --index 0 'directory tree'
	assert_line "version $OLD"
}
