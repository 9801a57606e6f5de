#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [BATS_OPTION...] — the tests of a host that most people have and this
# one may not be: Debian 12 with systemd, control groups of version 2 and a KVM
# that works. It is a machine of QEMU's whose processor is emulated with AMD's
# virtualization (SVM), so it needs no KVM here. Speaks TAP.
#
#   BOX_SECONDS  how long it may take (1800)
#   BOX_DIR      the image that build.sh has made (build/box)
set -Eeuo pipefail
cd "$(dirname "$0")/../.."

box=$(realpath "${BOX_DIR:-build/box}")
work=$(mktemp -d "$box.run.XXXXXX")
qemu=
finish() {
	# timeout(1), which passes it on
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' TERM INT

# Its second disk: the program, the QEMU that was brought, the guest's image, the
# units, the tests.
mkdir -p "$work/tree/build/tests" "$work/tree/fsd/share"
printf '%s\n' "$@" >"$work/tree/options"
cp -a build/fsd "$work/tree/build/"
cp -a build/tests/await build/tests/result "$work/tree/build/tests/"
for part in build/image build/qemu; do
	[ ! -e "$part" ] || cp -al "$part" "$work/tree/build/" 2>/dev/null ||
		cp -a "$part" "$work/tree/build/"
done
cp -a tests "$work/tree/"
cp -a fsd/share/systemd "$work/tree/fsd/share/"
# shellcheck disable=SC2046 # a number
mkfs.ext4 -q -d "$work/tree" "$work/disk" \
	$(($(du -sm "$work/tree" | cut -f 1) + 64))M

# Retpolines and a fifth level of page tables are much work for an emulator. Its
# counter is the host's, whatever the kernel would measure on a busy one.
khz=$(build/release/tests/box/tsc)
mkfifo "$work/tap"
timeout -k 10 "${BOX_SECONDS:-1800}" qemu-system-x86_64 -nodefaults \
	-no-user-config -nographic -no-reboot -nic none -machine q35 \
	-accel tcg,thread=multi,tb-size=512 -cpu max,la57=off -smp 2 -m 3G \
	-kernel "$box/kernel" -initrd "$box/initrd" \
	-append "root=/dev/vda rw console=ttyS0 quiet loglevel=4 \
mitigations=off tsc=reliable tsc_early_khz=$khz nowatchdog" \
	-drive "file=$box/disk,if=virtio,format=raw,snapshot=on" \
	-drive "file=$work/disk,if=virtio,format=raw,readonly=on" \
	-serial "file:$box/console" -serial stdio \
	</dev/null >"$work/tap" 2>"$work/said" 9>&- &
qemu=$!
tee "$work/out" <"$work/tap"
wait "$qemu" || {
	echo "# QEMU ended with status $?"
	sed 's/^/# /' "$work/said"
}
qemu=
tail -n 1 "$work/out" | grep -q '^# status 0$' || {
	echo '# the last words of its console:'
	tail -n 20 "$box/console" | tr -d '\r' | sed 's/^/# /'
	exit 1
}
