#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh OUTDIR — makes a plain Debian 12 with systemd there, as root: `disk`
# (ext4), `kernel`, `initrd`. Its packages come from the archives of Debian's
# bookworm that this host's apt is configured for. It is made anew when this
# file or apt's lists have changed, and not else. What runs in it at its start
# lies on its second disk (run.sh).
set -Eeuo pipefail
shopt -s inherit_errexit
export LC_ALL=C TZ=UTC
umask 022

# Besides what systemd boots with: what fsd needs to run, then its tests.
packages=apt,systemd-sysv,udev,dbus,libpam-systemd,kmod,initramfs-tools
packages+=,linux-image-cloud-amd64,procps,util-linux,mount
packages+=,qemu-system-x86,fuse3,libfuse3-3,libjansson4,libseccomp2,libssl3
packages+=,bats,bats-assert,bats-support,jq,attr,python3
disk_size=4G # sparse: a template wants 1 GiB to be free

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:?usage: build.sh OUTDIR}")

die() {
	echo "box: error: $*" >&2
	exit 1
}

[ "$(id -u)" = 0 ] || die 'to make an image takes root'
for tool in mmdebstrap mkfs.ext4 flock; do
	command -v $tool >/dev/null || die "$tool is missing; run: make deps"
done
mkdir -p "$(dirname "$out")"
exec 9>"$out.lock"
flock -w 900 9 || die "another build holds $out.lock"

key=$({
	cat "$here/build.sh"
	find /var/lib/apt/lists -maxdepth 1 -type f -size +0 \
		-printf '%f %s %T@\n' | sort
} | sha256sum | cut -c1-64)
if [ "$(cat "$out/key" 2>/dev/null)" = "$key" ]; then
	echo "box: up to date: $out"
	exit
fi

work=$out.new
rm -rf "$work"
mkdir "$work"
trap 'rm -rf "$work"' EXIT
apt-get indextargets --format \
	'$(ORIGIN)|$(CODENAME)|deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
	'Created-By: Packages' |
	sed -n 's/^Debian|bookworm\(-updates\|-security\)\?|//p' |
	grep ' main$' | sort -u >"$work/sources.list" ||
	die 'apt knows no Debian bookworm here; configure it, then: apt-get update'
essential=$(apt-cache dumpavail |
	awk '/^Package:/ { p = $2 } /^Essential: yes/ { print p }' |
	sort -u | paste -sd,)
echo 'box: unpacking and configuring packages'
mmdebstrap --mode=root --format=directory --variant=custom \
	--aptopt='APT::Install-Recommends "false"' \
	--dpkgopt=force-unsafe-io \
	--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
	--include="$essential,$packages" bookworm "$work/tree" - \
	<"$work/sources.list" >"$work/log" 2>&1 || {
	tail -n 15 "$work/log" >&2
	die 'mmdebstrap failed'
}

tree=$work/tree
echo box >"$tree/etc/hostname"
cat >"$tree/etc/fstab" <<'EOF'
/dev/vda  /         ext4   defaults                         0 0
/dev/vdb  /mnt      ext4   ro                               0 0
tmpfs     /var/tmp  tmpfs  huge=always,size=75%,mode=1777   0 0
EOF
# A user, and what runs here: once, with its words on the second serial port.
chroot "$tree" useradd --create-home --shell /bin/bash --groups kvm user
mkdir -p "$tree/etc/systemd/system/multi-user.target.wants"
cat >"$tree/etc/systemd/system/box.service" <<'EOF'
[Unit]
RequiresMountsFor=/mnt /var/tmp
After=dbus.service systemd-logind.service
FailureAction=poweroff-force
SuccessAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash /mnt/tests/box/inside.sh
StandardOutput=file:/dev/ttyS1
StandardError=inherit
EOF
ln -s ../box.service "$tree/etc/systemd/system/multi-user.target.wants/"
# Nobody logs in, and nothing else is to begin beside the tests.
for unit in serial-getty@ttyS0.service apt-daily.timer \
	apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
	fstrim.timer; do
	ln -s /dev/null "$tree/etc/systemd/system/$unit"
done
ln -sf /lib/systemd/system/multi-user.target \
	"$tree/etc/systemd/system/default.target"

echo 'box: packing'
cp "$tree"/boot/vmlinuz-* "$work/kernel"
cp "$tree"/boot/initrd.img-* "$work/initrd"
rm -rf "$tree"/var/cache/apt "$tree"/var/lib/apt/lists
mkfs.ext4 -q -d "$tree" "$work/disk" $disk_size
rm -rf "$tree"
echo "$key" >"$work/key"
rm -rf "$out"
mv "$work" "$out"
trap - EXIT
echo "box: done: $out"
