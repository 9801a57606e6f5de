#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUTDIR --init FILE [--runners DIR] [--cache DIR]
#
# Makes the guest image in OUTDIR; README.md says what is in it. As root, on
# Debian 12 or 13. The order of things:
#
#   quick     the same inputs as last time: nothing to do
#   sources   the archives of this host's apt, but only Debian's trixie there
#   lists     what they have, in the cache: the host's own lists stay as they are
#   resolve   which versions of which packages that means today
#   unpack    mmdebstrap, finish.sh: a tree, kept in the cache by its versions
#   kernel    vmlinux and modules out of the kernel's package, kept likewise
#   check     nothing in the tree gives a privilege
#   pack      tree + init + runners + programs -> rootfs.erofs;
#             init + modules -> initramfs
#   publish   manifest, then the new directory takes OUTDIR's place in one step
#
# The same package versions, scripts, init and runners give the same bytes.
set -Eeuo pipefail
shopt -s inherit_errexit
export LC_ALL=C TZ=UTC PYTHONDONTWRITEBYTECODE=1
umask 022

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
kernel_package=linux-image-cloud-amd64
# One time for every file, so that none can tell when it was made.
epoch=1735689600
# Any fixed number will do: the image id tells images apart, not this.
uuid=f5d00000-0000-4000-8000-000000000001

began=${EPOCHREALTIME/./}
step=start
say() {
	local ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	printf 'image: %3d.%03d s  %s\n' $((ms / 1000)) $((ms % 1000)) "$*"
}
die() {
	echo "image: error: $*" >&2
	trap - ERR
	exit 1
}
failed() {
	[ "$BASH_SUBSHELL" = 0 ] || return 0
	echo "image: error: step '$step' failed; its last words:" >&2
	if [ -s "${log:-}" ]; then
		tail -n 15 "$log" | sed 's/^/    /' >&2
	fi
}
trap failed ERR

arguments() {
	outdir= init= runners= cache=
	while [ $# -gt 0 ]; do
		case $1 in
		--init) init=${2:?--init needs a file} && shift ;;
		--runners) runners=${2:?--runners needs a directory} && shift ;;
		--cache) cache=${2:?--cache needs a directory} && shift ;;
		-*) die "unknown option $1; usage: build.sh OUTDIR --init FILE" \
			"[--runners DIR] [--cache DIR]" ;;
		*) [ -z "$outdir" ] || die "one OUTDIR, not both $outdir and $1"
			outdir=$1 ;;
		esac
		shift
	done
	[ -n "$outdir" ] || die "usage: build.sh OUTDIR --init FILE" \
		"[--runners DIR] [--cache DIR]"
	[ -f "$init" ] || die "--init must name the guest's init program" \
		"(make build/guest/init); found '$init'"
	[ -z "$runners" ] || [ -d "$runners" ] ||
		die "--runners: $runners is no directory"
	outdir=$(realpath -m "$outdir")
	cache=$(realpath -m "${cache:-$outdir.cache}")
}

preflight() {
	local tool package missing=
	for tool in apt-get:apt mmdebstrap:mmdebstrap mkfs.erofs:erofs-utils \
		cpio:cpio lz4:lz4 $python:python3 dpkg-deb:dpkg \
		flock:util-linux; do
		package=${tool##*:}
		command -v "${tool%%:*}" >/dev/null || missing+=" $package"
	done
	[ -z "$missing" ] || die "missing tools; run: apt-get install$missing"
	[ "$(id -u)" = 0 ] || die "building an image needs root" \
		"(mmdebstrap's chroot, owners of files)"
	[ "$(dpkg --print-architecture)" = amd64 ] ||
		die "only amd64 is supported, this is $(dpkg --print-architecture)"
}

# Hash of what is named by the arguments: files, and all files below directories.
hash_of() {
	local path
	for path; do
		if [ -d "$path" ]; then
			(cd "$path" && find . -type f ! -path '*/__pycache__/*' \
				-printf '%m %p\0' | sort -z | tr '\0' '\n' &&
				find . -type f ! -path '*/__pycache__/*' -print0 |
				sort -z | xargs -0r sha256sum)
		else
			sha256sum <"$path"
		fi
	done | sha256sum | cut -c1-64
}

# Where the guest's packages come from: the archives of Debian that this host is
# configured for, each under the name that it has for the guest's release.
sources() {
	# shellcheck disable=SC2016 # expanded by apt-get
	apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' \
		"Created-By: Packages" |
		sed -nE "s|^Debian [a-z]+(-updates\|-security)? ([^ ]+)\$|deb [signed-by=$keyring] \2 $suite\1 main|p" |
		sort -u >"$cache/sources.new"
	[ -s "$cache/sources.new" ] ||
		die "apt knows no archive of Debian on this host;" \
			"configure one and run: apt-get update"
	mv "$cache/sources.new" "$cache/sources.list"
}

# The lists are renewed if there are none, or if the host's own were since.
lists() {
	local lists=$cache/lists
	[ ! -e "$lists/of" ] || ! cmp -s "$lists/of" "$cache/sources.list" ||
		[ -n "$(find /var/lib/apt/lists -maxdepth 1 -type f \
			-name '*Packages*' -newer "$lists/of" -print -quit)" ] ||
		return 0
	rm -rf "$cache/lists.new"
	mkdir -p "$cache/lists.new/partial"
	say "reading what the archives have of $suite"
	if bare_apt apt-get -q -o Acquire::Retries=1 -o APT::Update::Error-Mode=any \
		-o Dir::State::lists="$cache/lists.new" update >"$log" 2>&1; then
		cp "$cache/sources.list" "$cache/lists.new/of"
		rm -rf "$lists"
		mv "$cache/lists.new" "$lists"
	elif [ -e "$lists/of" ]; then
		say "no archive answers: its packages are those known before"
		touch "$lists/of"
	else
		die "no archive of Debian answers; apt says:" \
			"$(tail -n 3 "$log")"
	fi
}

# A key of the package lists, without asking apt (which takes seconds): if they
# are the same files as before, they resolve to the same versions.
lists_key() {
	{
		hash_of "$here/packages" "$here/build.sh" "$cache/sources.list"
		(cd "$cache/lists" && find . -maxdepth 1 -type f -name '*_*' \
			-print0 | sort -z | xargs -0r sha256sum)
	} | sha256sum | cut -c1-64
}

# Everything that a build depends on.
inputs_key() {
	{
		echo "$lists_id"
		hash_of "$here" "$init" ${runners:+"$runners"}
		mkfs.erofs --help 2>&1 | sha256sum
	} | sha256sum | cut -c1-64
}

# The cache remembers which image came of which inputs.
up_to_date() {
	local image
	image=$(sed -n "s/^$key //p" "$cache/built" 2>/dev/null) || return 1
	[ -n "$image" ] &&
		$python "$here/manifest.py" fresh "$outdir" "$image"
}

# apt with these sources only, as if nothing were installed. $cache/lock is ours; the
# lock that apt would take lies beside the status file, in /dev: the whole host's.
bare_apt() {
	local tool=$1
	shift
	"$tool" -o Dir::Etc::SourceList="$cache/sources.list" \
		-o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Etc::Preferences=/dev/null \
		-o Dir::Etc::PreferencesParts=/dev/null \
		-o Dir::State::status=/dev/null -o Dir::Cache="$cache/apt" \
		-o Dir::State::lists="$cache/lists" \
		-o Debug::NoLocking=1 \
		-o APT::Sandbox::User=root -o APT::Install-Recommends=false \
		-o Acquire::Languages=none "$@"
}

# apt counts itself as essential; the guest has no use for it.
wanted() {
	sed 's/#.*//; /^[[:space:]]*$/d' "$here/packages"
	bare_apt apt-cache dumpavail |
		awk '/^Package:/ { p = $2 } /^Essential: yes/ { print p }' |
		sort -u
}

# Which packages and versions, and which kernel: kept by the lists' key.
resolve() {
	plan=$cache/plan-$lists_id
	[ ! -d "$plan" ] || return 0
	mkdir "$work/plan"
	wanted >"$work/plan/wanted"
	# shellcheck disable=SC2046 # a list of package names
	bare_apt apt-get -s install $(cat "$work/plan/wanted") \
		>"$work/simulated" 2>"$log"
	sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' "$work/simulated" |
		sort >"$work/plan/packages.list"
	local name
	name=$(bare_apt apt-cache depends --important $kernel_package |
		sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -n 1)
	[ -n "$name" ] || die "apt knows no kernel package $kernel_package"
	bare_apt apt-cache show --no-all-versions "$name" |
		sed -n "s/^Version: /$name /p" >"$work/plan/kernel"
	cp "$cache/sources.list" "$work/plan/"
	rm -rf "$cache"/plan-*
	mv "$work/plan" "$plan"
}

keys() {
	read -r kernel kernel_version <"$plan/kernel"
	release=${kernel#linux-image-}
	tree_key=$(hash_of "$plan/packages.list" "$here/finish.sh" \
		"$here/_own_code.py")
	kernel_key=$(cat "$plan/kernel" "$here/kernel.py" "$here/modules" |
		sha256sum | cut -c1-64)
}

download() {
	mkdir -p "$cache/apt/archives/partial"
	# shellcheck disable=SC2046 # a list of package names
	(cd "$cache/apt/archives" &&
		bare_apt apt-get -y --download-only install \
			$(cat "$plan/wanted") && bare_apt apt-get download "$kernel") \
		>"$log" 2>&1 || die "cannot download packages; if the lists are" \
			"old, run: apt-get update. apt says:" "$(tail -n 3 "$log")"
}

# mmdebstrap gets the host's lists and the files fetched above, so that what
# was resolved is what is unpacked, without a second look at the network.
unpack() {
	SOURCE_DATE_EPOCH=$epoch mmdebstrap --mode=root --format=directory \
		--variant=custom --skip=update \
		--aptopt='APT::Install-Recommends "false"' \
		--include="$(paste -sd, "$plan/wanted")" \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--setup-hook='mkdir -p "$1/var/lib/apt/lists" "$1/var/cache/apt/archives"' \
		--setup-hook="cp -p '$cache'/lists/*_* \"\$1/var/lib/apt/lists/\"" \
		--setup-hook="cp '$cache'/apt/archives/*.deb \"\$1/var/cache/apt/archives/\"" \
		$suite "$work/tree" - <"$plan/sources.list" >"$log" 2>&1
	dpkg-query --admindir="$work/tree/var/lib/dpkg" -W \
		-f '${Package} ${Version}\n' | sort >"$work/unpacked"
	cmp -s "$work/unpacked" "$plan/packages.list" ||
		die "unpacked other packages than were resolved:" \
			"$(diff "$plan/packages.list" "$work/unpacked" | head -n 5)"
	"$here/finish.sh" "$work/tree" >"$log" 2>&1
}

make_tree() {
	tree=$cache/tree-$tree_key
	[ ! -d "$tree" ] || { say "tree: cached" && return; }
	say "unpacking $(wc -l <"$plan/packages.list") packages"
	rm -rf "$cache"/tree-*
	unpack
	mv "$work/tree" "$tree"
}

make_kernel() {
	parts=$cache/kernel-$kernel_key
	[ ! -d "$parts" ] || { say "kernel: cached" && return; }
	say "kernel $release"
	rm -rf "$cache"/kernel-*
	local deb="$cache/apt/archives/${kernel}_${kernel_version/:/%3a}_amd64.deb"
	dpkg-deb -x "$deb" "$work/deb"
	mkdir "$work/kernel"
	$python "$here/kernel.py" vmlinux "$work/deb/boot/vmlinuz-$release" \
		"$work/kernel/vmlinux" 2>"$log"
	$python "$here/kernel.py" modules "$work/deb/usr/lib/modules/$release" \
		"$here/modules" "$work/kernel/modules" 2>"$log"
	mv "$work/kernel" "$parts"
}

# Files that change with every edit go into the kept tree afresh each time, so an
# interrupted build leaves nothing that the next one does not replace.
place() {
	local own=$tree/usr/lib/fsd file
	rm -rf "$own"
	install -D -m 0755 "$init" "$tree/usr/sbin/fsd-init"
	install -D -m 0644 "$plan/packages.list" "$own/packages.list"
	# Before what an environment has in /usr/bin.
	rm -rf "$tree/usr/local/bin"
	install -d -m 0755 "$tree/usr/local/bin"
	install -m 0755 "$here"/programs/* "$tree/usr/local/bin/"
	ln -s pip "$tree/usr/local/bin/pip3"
	ln -s npm "$tree/usr/local/bin/npx"
	# Where a real one of an environment covers it.
	rm -rf "$tree/usr/lib/python3/dist-packages/pip"
	(cd "$here/pip" && find . -name '*.py' -print0) |
		while IFS= read -r -d '' file; do
			install -D -m 0644 "$here/pip/$file" \
				"$tree/usr/lib/python3/dist-packages/pip/$file"
		done
	# Init tells the host this: an image cannot hold its own hash, so it
	# is the hash of all that goes into it.
	content=$(printf '%s\n' "$tree_key" "$kernel_key" "$(hash_of "$init")" \
		"$(hash_of "$here/programs" "$here/pip" ${runners:+"$runners"})" | sha256sum | cut -c1-64)
	echo "$content" >"$own/image-id"
	chmod 0644 "$own/image-id"
	[ -n "$runners" ] || return 0
	(cd "$runners" && find . -type f ! -path '*/__pycache__/*' -print0) |
		while IFS= read -r -d '' file; do
			local mode=0644
			[ ! -x "$runners/$file" ] || mode=0755
			install -D -m $mode "$runners/$file" "$own/runners/$file"
		done
	[ ! -d "$own/runners" ] || PYTHONHASHSEED=0 chroot "$tree" \
		/usr/bin/python3 -I -m compileall -q -f \
		--invalidation-mode unchecked-hash /usr/lib/fsd/runners
}

pack_root() {
	say "packing rootfs.erofs"
	mkfs.erofs --quiet -T$epoch -U$uuid -x-1 "$work/out/rootfs.erofs" \
		"$tree" >"$log" 2>&1
}

pack_initramfs() {
	say "packing initramfs.cpio"
	local stage=$work/initramfs
	mkdir -p "$stage"/{dev,proc,sys,root,modules}
	install -m 0755 "$init" "$stage/init"
	install -m 0644 "$parts"/modules/* "$stage/modules/"
	find "$stage" -exec touch -hd "@$epoch" {} +
	(cd "$stage" && find . -mindepth 1 | sort |
		cpio --quiet --reproducible -o -H newc -R 0:0) \
		>"$work/out/initramfs.cpio"
}

# remove DIR... — removes trees of builds. An mmdebstrap that was killed leaves /proc and
# more mounted in its tree, and rm must not go in there.
remove() {
	local dir at
	for dir; do
		awk -v "below=$dir/" 'index($5, below) == 1 { print $5 }' \
			/proc/self/mountinfo | sort -r | while read -r at; do
			umount --lazy "$at"
		done
		rm -rf --one-file-system "$dir"
	done
}

publish() {
	$python "$here/manifest.py" write "$work/out" "$release" "$content"
	sync -f "$work/out"
	$python "$here/manifest.py" swap "$work/out" "$outdir"
	image=$(sed -n 's/^image //p' "$outdir/manifest")
	echo "$key $image" >"$work/built"
	mv "$work/built" "$cache/built"
}

main() {
	arguments "$@"
	preflight
	mkdir -p "$cache" "$(dirname "$outdir")"
	exec 9>"$cache/lock"
	flock -w 900 9 || die "another build holds $cache/lock"
	log=$cache/log
	step=sources && sources
	step=lists && lists
	lists_id=$(lists_key)
	key=$(inputs_key)
	if up_to_date; then
		say "up to date: $outdir"
		return
	fi
	# Next to OUTDIR: a rename must not cross file systems.
	remove "$outdir".new.*
	work=$outdir.new.$$
	trap 'remove "$work"' EXIT
	mkdir -p "$work/out"
	log=$work/log
	[ -d "$cache/plan-$lists_id" ] || say "resolving packages"
	step=resolve && resolve
	keys
	if [ ! -d "$cache/tree-$tree_key" ] ||
		[ ! -d "$cache/kernel-$kernel_key" ]; then
		say "downloading packages"
		step=download && download
	fi
	step=unpack && make_tree
	step=kernel && make_kernel
	step=place && place
	step=check && $python "$here/privileges.py" "$tree" 2>"$log"
	cp "$parts/vmlinux" "$plan/packages.list" "$work/out/"
	step=pack && pack_root
	pack_initramfs
	step=publish && publish
	say "done: $outdir, image $image"
}

main "$@"
