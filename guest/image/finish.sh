#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# finish.sh TREE: turns a freshly unpacked Debian tree into the guest's root:
# accounts, names, mount points, no privilege bits, nothing that the guest
# never reads, and every .pyc made now, because compiling one in the guest
# costs seconds. Deterministic: nothing here depends on the time or the host.
set -euo pipefail

tree=${1:?tree}
[ -f "$tree/etc/debian_version" ] || {
	echo "finish.sh: $tree holds no Debian" >&2
	exit 1
}

accounts() {
	cat >"$tree/etc/passwd" <<-'EOF'
	root:x:0:0:root:/root:/bin/bash
	daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
	nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
	net:x:1001:1001:the network's helper:/nonexistent:/usr/sbin/nologin
	user:x:1000:1000:user:/home/user:/bin/bash
	EOF
	cat >"$tree/etc/group" <<-'EOF'
	root:x:0:
	daemon:x:1:
	adm:x:4:
	tty:x:5:
	disk:x:6:
	mail:x:8:
	kmem:x:15:
	utmp:x:43:
	shadow:x:42:
	staff:x:50:
	users:x:100:
	nogroup:x:65534:
	user:x:1000:
	net:x:1001:
	EOF
	# No account has a password, and nothing here can log in.
	sed 's/:.*/:*:0:0:99999:7:::/' "$tree/etc/passwd" >"$tree/etc/shadow"
	sed 's/:.*/:*::/' "$tree/etc/group" >"$tree/etc/gshadow"
	chmod 0640 "$tree/etc/shadow" "$tree/etc/gshadow"
	rm -f "$tree"/etc/{passwd,group,shadow,gshadow,subuid,subgid}-
	rm -f "$tree"/etc/{subuid,subgid,.pwd.lock}
}

names() {
	echo fsd >"$tree/etc/hostname"
	printf '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 fsd\n' \
		>"$tree/etc/hosts"
	# The helper of guest/net answers, in a job without a network as well.
	rm -f "$tree/etc/resolv.conf"
	printf 'nameserver 127.0.0.53\noptions timeout:10 attempts:1\n' \
		>"$tree/etc/resolv.conf"
	printf '%s: files\n' passwd group shadow gshadow networks \
		protocols services ethers rpc >"$tree/etc/nsswitch.conf"
	echo 'hosts: files dns' >>"$tree/etc/nsswitch.conf"
	printf 'LANG=C.UTF-8\n' >"$tree/etc/default/locale"
	printf 'LANG=C.UTF-8\n' >"$tree/etc/environment"
	: >"$tree/etc/fstab"
	: >"$tree/etc/motd"
	# Every machine gets its own, from PID 1, at the start of a job.
	ln -sfn /run/machine-id "$tree/etc/machine-id"
	ln -sfn /proc/self/mounts "$tree/etc/mtab"
	rm -f "$tree/etc/localtime" "$tree/etc/timezone"
	ln -s /usr/share/zoneinfo/Etc/UTC "$tree/etc/localtime"
	echo Etc/UTC >"$tree/etc/timezone"
}

mount_points() {
	rm -rf "${tree:?}"/{dev,proc,sys,run,tmp,home,boot,media,mnt,srv,opt}
	mkdir -p "$tree"/{dev,proc,sys,run,tmp,home/user,workspace,code,mnt,opt,srv}
	chmod 1777 "$tree/tmp"
	chown 1000:1000 "$tree"/{home/user,workspace,code}
	rm -rf "$tree"/root && mkdir -m 0700 "$tree/root"
	# /var is read-only; what programs write there lives in memory.
	rm -rf "$tree/var/tmp" "$tree/var/run" "$tree/var/lock"
	ln -s /tmp "$tree/var/tmp"
	ln -s /run "$tree/var/run"
	ln -s /run/lock "$tree/var/lock"
}

# A login shell reads this before each command of a sandbox. Debian's own text starts
# two programs (id, run-parts), which take 70 ms under emulation; bash knows both answers.
profile() {
	cat >"$tree/etc/profile" <<-'EOF'
	if [ "${UID:-$(id -u)}" -eq 0 ]; then
	  PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	else
	  PATH="/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games"
	fi
	export PATH

	if [ "${PS1-}" ]; then
	  if [ "${BASH-}" ] && [ "$BASH" != "/bin/sh" ]; then
	    if [ -f /etc/bash.bashrc ]; then
	      . /etc/bash.bashrc
	    fi
	  elif [ "${UID:-$(id -u)}" -eq 0 ]; then
	    PS1='# '
	  else
	    PS1='$ '
	  fi
	fi

	for i in /etc/profile.d/*.sh; do
	  if [ -r "$i" ]; then
	    . "$i"
	  fi
	done
	unset i
	EOF
}

commands() {
	# Many a #! line says this; Debian has it in a package of its own.
	ln -sfn python3 "$tree/usr/bin/python"
}

slim() {
	local share=$tree/usr/share
	rm -rf "$share"/{doc,doc-base,man,info,locale,lintian,bug,menu,groff}
	rm -rf "$share"/{bash-completion,zsh,polkit-1,systemtap,gdb,debconf}
	rm -rf "$share"/{common-licenses,pixmaps,applications,icons}
	rm -rf "$share/nodejs/@types"
	rm -rf "$tree"/var/{cache,log,backups,mail,spool,local,opt}
	rm -rf "$tree"/var/lib/{apt,dpkg,systemd,pam,misc,python}
	rm -rf "$tree"/etc/{apt,dpkg,debconf.conf,cron.daily,init.d,rc?.d}
	rm -rf "$tree"/etc/{logrotate.d,systemd,update-motd.d,issue,issue.net}
	rm -rf "$tree"/usr/lib/{systemd,udev,tmpfiles.d,sysusers.d,valgrind}
	rm -rf "$tree"/usr/{games,local/games,src,include}
	rm -f "$tree"/etc/ld.so.cache~ "$tree"/etc/alternatives/README
	# cache/user is for an environment's caches (guest/os/environment.c).
	mkdir -p "$tree"/var/{cache/user,log,spool,mail}
	# Links whose page went with share/man; what stays must lead somewhere.
	find "$tree/etc/alternatives" -xtype l -name '*.gz' -delete
}

no_privilege() {
	find "$tree" -xdev ! -type l -perm /6000 -exec chmod ug-s {} +
	# A file capability would be privilege by another name.
	if command -v getcap >/dev/null; then
		getcap -r "$tree" 2>/dev/null | sed 's/ [^ ]*$//' |
			while read -r file; do setcap -r "$file"; done
	fi
}

python() {
	local lib
	for lib in "$tree"/usr/lib/python3.*/; do
		# Debian's is for reports of crashes, which nobody gets from here.
		rm -f "$lib/sitecustomize.py"
		echo 'import _own_code' >"$lib/sitecustomize.py"
		cp "$(dirname "$0")/_own_code.py" "$lib"
	done
}

bytecode() {
	find "$tree/usr/lib" -name __pycache__ -prune -exec rm -rf {} +
	# Unchecked: the interpreter believes a .pyc without a stat or a hash of
	# its source, which nobody can change on a read-only root.
	local lib=("$tree"/usr/lib/python3*)
	PYTHONHASHSEED=0 chroot "$tree" /usr/bin/python3 -I -m compileall \
		-q -f --invalidation-mode unchecked-hash "${lib[@]#"$tree"}"
}

accounts
names
mount_points
profile
commands
slim
python
no_privilege
bytecode
