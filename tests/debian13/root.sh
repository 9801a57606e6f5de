# SPDX-License-Identifier: Apache-2.0
#
# For a script that has Debian 13 as the host, as root; it speaks TAP. It makes a root file
# system from the archives and by the lists of the image's build, and keeps it until what it
# is made of changes. Before it is read:
#
#   top   the sources
#   out   the directory of the root file system
#   more  packages beside those that the Makefile names

cache=$top/build/image-cache
root=$out/root
log=$out/log
count=0
failed=0

mkdir -p "$out"

# names — what the Makefile installs on a Debian 13, without what makes
# images: the image is the host's.
names() {
	make -s -C "$top" DEBIAN=13 print-packages |
		tr ' ' '\n' | grep -vE '^(mmdebstrap|erofs-utils|e2fsprogs)$'
}

make_root() {
	local lists=$cache/lists
	rm -rf "$root" "$out/key"
	# shellcheck disable=SC2016,SC2086 # the hook's; words
	mmdebstrap --mode=root --format=directory --variant=custom --skip=update \
		--aptopt='APT::Install-Recommends "false"' \
		--include="$(echo base-files base-passwd bash coreutils dash \
			diffutils dpkg findutils grep gzip hostname libc-bin mawk \
			perl-base sed tar util-linux usr-is-merged \
			git $packages ${more:-} | tr ' ' ',')" \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--setup-hook='mkdir -p "$1/var/lib/apt/lists" "$1/var/cache/apt/archives"' \
		--setup-hook="cp -p '$lists'/*_* \"\$1/var/lib/apt/lists/\"" \
		trixie "$root" - <"$cache/sources.list"
	echo "$key" >"$out/key"
}

# inside COMMAND — a shell's, in the root, with the host's devices, an empty /tmp
# and the image.
inside() {
	# shellcheck disable=SC2016 # for the other shell
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

# copy_sources — those that git knows; what was built there before stays.
copy_sources() {
	mkdir -p "$root/src"
	find "$root/src" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
	git -C "$top" ls-files -z | tar -C "$top" --null -T - -cf - |
		tar -C "$root/src" -xf -
}

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

# root_ready — the first line of TAP.
root_ready() {
	packages=$(names)
	key=$(cat "$cache/sources.list" - <<<"$packages${more:+ $more}" |
		sha256sum | cut -c1-64)
	if [ "$(cat "$out/key" 2>/dev/null)" != "$key" ]; then
		says 'the packages that are named for Debian 13 can be installed there' \
			make_root
	else
		says 'the packages that are named for Debian 13 are installed there' true
	fi
	copy_sources
}
