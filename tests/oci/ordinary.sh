#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ordinary.sh DIR COMMAND... — runs a command as root in namespaces where there is an
# ordinary user "anna" with 65,536 subordinate ids, as of a Debian host: devices of mode
# 0666, a home in DIR, a runtime directory. `as_anna COMMAND...` is how the command does
# something as that user. All processes end with the command; nothing of the host changes.
set -euo pipefail
dir=$(realpath -m "${1:?usage: ordinary.sh DIR COMMAND...}")
shift

if [ -z "${ORDINARY:-}" ]; then
	mkdir -p "$dir"
	ORDINARY=1 exec unshare --mount --cgroup --net --pid --fork --kill-child --mount-proc \
		--propagation private "$0" "$dir" "$@"
fi
unset ORDINARY

etc=$dir/etc
mkdir -p "$etc" "$dir/bin" "$dir/home"
uid=64100
# with FILE LINE — FILE has that line as well, here.
with() {
	{ cat "$1"; echo "$2"; } >"$etc/${1##*/}"
	mount --bind "$etc/${1##*/}" "$1"
}
with /etc/passwd "anna:x:$uid:$uid::$dir/home:/bin/bash"
with /etc/group "anna:x:$uid:"
with /etc/subuid 'anna:10000000:65536'
with /etc/subgid 'anna:10000000:65536'
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount --make-rshared /
ip link set lo up
# crun takes no host of both versions.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
install -d -m 700 -o $uid -g $uid "/run/user/$uid" "$dir/home"
# device NAME MINOR — of mode 0666, as udev makes it.
device() {
	rm -f "$dir/${1##*/}"
	mknod -m 666 "$dir/${1##*/}" c 10 "$2"
	mount --bind "$dir/${1##*/}" "$1"
}
device /dev/fuse 229
device /dev/net/tun 200
cat >"$dir/bin/as_anna" <<END
#!/bin/sh
exec setpriv --reuid $uid --regid $uid --clear-groups --inh-caps=-all --bounding-set=+all \\
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=$dir/home USER=anna LC_ALL=C.UTF-8 \\
	XDG_RUNTIME_DIR=/run/user/$uid "\$@"
END
chmod 755 "$dir/bin/as_anna"
cd "$dir/home"
PATH=$dir/bin:$PATH "$@"
