#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR [RELEASE...] — the packages of Debian 12 and 13, as root: made, looked at by
# lintian, and put into a bare root of that release, without a network, by the bundle.
# There, under a systemd of its own (tests/lib/systemd.py), programs run in real machines;
# the packages are upgraded while one does, removed and purged. TAP on standard output.
#
# OUTDIR keeps the roots and what apt has fetched. build/image must be there.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath -m "${1:?usage: run.sh OUTDIR [RELEASE...]}")
shift
releases=("${@:-12}")
[ $# -gt 0 ] || releases=(12 13)
log=$out/log
keys=$out/keys
export GNUPGHOME=$keys
# shellcheck source=tests/lib/environment.bash
. "$top/tests/lib/environment.bash"
mkdir -p "$out"

count=0
failed=0
# says NAME COMMAND... — one line of TAP, and the end of the log of what failed. The command
# runs in a shell of its own that ends at its first failure: behind || none would.
says() {
	local name="Debian $release: $1" status
	shift
	count=$((count + 1))
	set +e
	(
		set -e
		"$@"
	) >"$log" 2>&1
	status=$?
	set -e
	if [ "$status" = 0 ]; then
		echo "ok $count - $name"
	else
		echo "not ok $count - $name"
		tail -n 30 "$log" | sed 's/^/# /'
		failed=1
	fi
}

# not COMMAND... — it fails. (A command behind ! ends no shell.)
not() {
	! "$@"
}

# --- made on that release ------------------------------------------------------------

# What the Makefile installs there to build and to make packages, without what makes images.
build_packages() {
	make -s -C "$top" DEBIAN="$release" print-packages |
		tr ' ' '\n' | grep -vE '^(mmdebstrap|erofs-utils|e2fsprogs)$'
	printf '%s\n' build-essential debhelper dpkg-dev fakeroot lintian git
}

# in_build COMMAND — a shell's, in the root for building, with the sources in /src.
in_build() {
	unshare --mount --propagation private bash -ec '
		mount --rbind /dev "$1/dev"
		mount -t proc proc "$1/proc"
		mount -t tmpfs tmpfs "$1/tmp"
		mkdir -p "$1/src/build/image" "$1/out"
		mount --bind "$2" "$1/src/build/image"
		mount --bind "$3" "$1/out"
		exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
			LC_ALL=C.UTF-8 bash -ec "cd /src; $4"
	' x "$build" "$top/build/image" "$debs" "$1"
}

is_host() {
	(. /etc/os-release && [ "$ID $VERSION_ID" = "debian $release" ])
}

make_debs() {
	mkdir -p "$debs"
	if is_host; then
		"$top/fsd/debian/build.sh" "$debs"
		return
	fi
	# shellcheck disable=SC2046 # words
	"$here/root.sh" "$release" "$build" $(build_packages)
	rm -rf "$build/src"
	mkdir "$build/src"
	git -C "$top" ls-files -z --cached --others --exclude-standard |
		tar -C "$top" --null -T - --ignore-failed-read -cf - | tar -C "$build/src" -xf -
	in_build 'fsd/debian/build.sh /out'
}

lint_debs() {
	local command='lintian --fail-on error,warning'
	if is_host; then
		$command "$debs"/*.changes
	else
		in_build "$command /out/*.changes"
	fi
}

# --- installed without a network -----------------------------------------------------

there() {
	timeout $((300 * ${SLOW:-1})) /usr/bin/python3 -B "$top/tests/lib/systemd.py" \
		in "$system" "$@"
}

# property NAME — of fsd.service.
property() {
	there systemctl show -P "$1" fsd
}

boot() {
	rm -rf "$system"
	mkdir "$system"
	# shellcheck disable=SC2016 # for the other shell
	BUNDLE=$bundle KEYS=$keys \
		/usr/bin/python3 -B "$top/tests/lib/systemd.py" boot "$system" --with $$ \
		--root "$out/root$release" --setup '
			tar -C "$ROOT/opt" -xf "$BUNDLE"
			cp "$KEYS"/*.pub "$ROOT/opt"
			echo anna:x:1000:1000::/home/anna:/bin/bash >>"$ROOT/etc/passwd"
			echo anna:x:1000: >>"$ROOT/etc/group"
			install -d -o 1000 -g 1000 "$ROOT/home/anna"'
	[ "$(there ls /sys/class/net)" = lo ]
}

alerts() {
	promtool check rules "$top/fsd/share/prometheus/fsd.rules.yml"
	promtool test rules "$top/tests/prometheus/fsd.test.yml"
}

# make_keys — a key that signs, and that of another: ours.pub, others.pub.
make_keys() {
	local name
	rm -rf "$keys"
	mkdir -m 700 "$keys"
	for name in ours others; do
		gpg --batch --passphrase '' --quick-generate-key "$name@example.org" ed25519 sign never
		gpg --export "$name@example.org" >"$keys/$name.pub"
	done
}

make_environment() {
	ENVIRONMENTS=$out/environments
	rm -rf "$ENVIRONMENTS" "$out/tree"
	mkdir -p "$out/tree/usr/lib"
	echo hello >"$out/tree/usr/lib/greeting"
	environment_make greeting "$out/tree"
}

make_bundle() {
	"$here/root.sh" "$release" "$out/root$release" systemd-sysv dbus
	make_keys
	make_environment
	RELEASE=$release APT_CONFIG=$out/root$release.apt KEY=ours@example.org \
		FSD_ENVIRONMENTS=$out/environments \
		"$top/fsd/debian/bundle.sh" "$debs" "$out/bundle" greeting
	bundle=$(echo "$out"/bundle/fsd-*-debian"$release"-amd64.tar)
	[ "$(stat -c %s "$bundle")" -le $((140 << 20)) ]
}

# A bundle that was changed is refused by the sums, and one with sums of another by the key.
refuses_bundles() {
	# shellcheck disable=SC2016 # for the other shell
	there sh -ec 'cd /opt/fsd-*
		refused() {
			if ./install.sh --download-check "$@" 2>/tmp/why; then exit 1; fi
			grep "$why" /tmp/why
		}
		./install.sh --download-check --key /opt/ours.pub
		why="not signed by a key in /opt/others.pub"
		refused --key /opt/others.pub
		why="files are not those that were made"
		cp environments/greeting.env environments/more.env
		refused
		rm environments/more.env
		mv README /tmp/README
		refused
		(cat /tmp/README && echo more) >README
		refused
		sha256sum README >>SHA256SUMS
		why="not signed by a key in /opt/ours.pub"
		refused --key /opt/ours.pub
		sed -i "\$d" SHA256SUMS
		mv SHA256SUMS.asc /tmp
		why="bundle is not signed"
		refused --key /opt/ours.pub
		mv /tmp/README /tmp/SHA256SUMS.asc .'
	not there test -e /usr/bin/fsd
}

install_bundle() {
	local began=$EPOCHSECONDS
	there sh -c '/opt/fsd-*/install.sh --gateway --key /opt/ours.pub'
	echo $((EPOCHSECONDS - began)) >"$out/seconds"
	there fsd version
}

starts_nothing() {
	not there systemctl --quiet is-active fsd fsd-gateway fsd-template
	not there sh -c 'ls /etc/systemd/system/*.wants/ | grep fsd'
}

runs_by_unit() {
	there sh -ec 'echo "FSD_OPTIONS=--network-allow example.org" >/etc/default/fsd
		systemctl start fsd
		systemctl status fsd | grep fsd-door'
	[ "$(there runuser -u anna -- fsd run -c 'print(6 * 7)')" = 42 ]
}

# The first program of a user's, whose machine has no template yet. Its time and that of the
# installation are what a user waits for.
runs_alone() {
	local began=$EPOCHSECONDS installed
	[ "$(there runuser -u anna -- fsd run -c 'print(6 * 7)')" = 42 ]
	installed=$(cat "$out/seconds")
	echo "installed in $installed s, the first program of a user ended" \
		"$((EPOCHSECONDS - began + installed)) s after the installation began" >"$out/seconds"
	[ $((EPOCHSECONDS - began + installed)) -le $((60 * ${SLOW:-1})) ]
}

runs_in_environment() {
	[ "$(there runuser -u anna -- fsd run --environment greeting \
		-c 'print(open("/usr/lib/greeting").read(), end="")')" = hello ]
}

upgrades() {
	local main
	main=$(property MainPID)
	there runuser -u anna -- sh -ec 'cd /run/fsd/jobs; mkdir long
		printf "import time\nprint(1, flush=True)\ntime.sleep(20)\nprint(2)\n" >long/code.py
		echo "{}" >long/config.json
		until grep -q 1 long/stdout; do sleep 0.2; done'
	there sh -ec 'dpkg -i /opt/fsd-*/debs/fsd_*.deb'
	there timeout 120 sh -c 'until [ "$(systemctl show -P ActiveState fsd)" = active ]; do
		sleep 0.2; done'
	[ "$(property MainPID)" = "$main" ]
	[ "$(there cat /run/fsd/jobs/long/wait)" = 0 ]
	[ "$(there cat /run/fsd/jobs/long/stdout)" = $'1\n2' ]
	[ "$(there cat /run/fsd/jobs/.fsd/health | cut -c1-2)" = ok ]
}

removes() {
	there sh -ec 'mkdir -p /var/spool/fsd/anna && touch /var/spool/fsd/anna/mine
		apt-get -q -y remove fsd fsd-gateway'
	not there mountpoint -q /run/fsd/jobs
	there test -d /var/lib/fsd/jobs
	not there test -e /usr/bin/fsd
}

purges() {
	# shellcheck disable=SC2016 # for the other shell
	there sh -ec 'apt-get -q -y purge $(dpkg-query -W -f "\${Package} " "fsd*")'
	there sh -ec 'for path in /var/lib/fsd /var/lib/fsd-environments /var/cache/fsd \
			/etc/default/fsd /etc/default/fsd-gateway /usr/share/fsd; do
			! [ -e "$path" ] || { ls -lR "$path"; exit 1; }
		done
		test -e /var/spool/fsd/anna/mine'
}

end() {
	[ ! -d "$keys" ] || gpgconf --kill all
	[ ! -e "$system/unshare" ] ||
		/usr/bin/python3 -B "$top/tests/lib/systemd.py" stop "$system"
}
system=$out/system
trap end EXIT

echo 'TAP version 13'
echo "1..$((1 + 13 * ${#releases[@]}))"
release=${releases[0]}
says 'each alert for Prometheus fires when it must, and only then' alerts
for release in "${releases[@]}"; do
	debs=$out/debs$release build=$out/build$release bundle=
	says 'the packages are made' make_debs
	says 'lintian finds no error and no warning' lint_debs
	says 'the bundle has all that they need, and is below 140 MiB' make_bundle
	bundle=$(echo "$out"/bundle/fsd-*-debian"$release"-amd64.tar)
	says 'a bare root comes up, without a network' boot
	says 'a bundle that was changed, or that another has signed, is refused' refuses_bundles
	says 'one command installs the bundle there' install_bundle
	says 'the installation starts and enables nothing' starts_nothing
	says "a user's first program runs in a mount of its own, within a minute" runs_alone
	says "a user's program runs by the service" runs_by_unit
	says 'a program has the environment of the bundle' runs_in_environment
	says 'the job that runs during an upgrade ends as without' upgrades
	says 'a removal ends the service and keeps its state' removes
	says 'a purge leaves what users have, and nothing else' purges
	echo "# $(cat "$out/seconds" 2>/dev/null)"
	end
done
exit $failed
