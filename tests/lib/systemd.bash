# SPDX-License-Identifier: Apache-2.0
#
# A systemd of a bats file (systemd.py), with the units of this tree and the program
# under test. One that does not answer any more is none of fsd's faults: the test that
# met it fails and says so, and the next one gets a new one.

# All units that a test may have started. A pattern would name the target of systemd.py too.
UNITS='fsd-gateway fsd-stats.timer fsd-stats fsd-template fsd-spool@anna fsd'

# there COMMAND... — beside the services.
there() {
	bounded "${THERE_SECONDS:-30}" \
		/usr/bin/python3 -B "$TESTS/lib/systemd.py" in "$SYSTEM" "$@"
}

# anna COMMAND... — the same as a user who may do nothing else.
anna() {
	there setpriv --reuid anna --regid anna --init-groups env HOME=/home/anna \
		XDG_RUNTIME_DIR=/run/user/4242 "$@"
}

# options TEXT — the options of the service from now on.
options() {
	# shellcheck disable=SC2016 # for the other shell
	there sh -c 'echo "FSD_OPTIONS=\"$1\"" >/etc/default/fsd' x "$1"
}

# property UNIT NAME
property() {
	there systemctl show -P "$2" "$1"
}

# job NAME TEXT — a program of fake machines in the host's mount.
job() {
	# shellcheck disable=SC2016 # for the other shell
	there sh -ec 'mkdir /run/fsd/jobs/$1 && echo "$2" >/run/fsd/jobs/$1/code.sh &&
		echo "{}" >/run/fsd/jobs/$1/config.json' x "$1" "$2"
}

# system_start — for setup_file, and for setup after one that did not answer. SYSTEM_SETUP:
# commands of a shell that run in its mount namespace before it, with its root in $ROOT.
# SYSTEM_OPTIONS: words for `systemd.py boot`.
system_start() {
	[ "$(id -u)" = 0 ] || need root
	[ -x /lib/systemd/systemd ] || need systemd
	export SYSTEM=$BATS_FILE_TMPDIR/system TOP=$TESTS/..
	export SYSTEM_OWNER=${SYSTEM_OWNER:-$$}
	[ ! -e "$SYSTEM/pid" ] || return 0
	mkdir -p "$SYSTEM"
	# shellcheck disable=SC2016,SC2086 # for the other shell; words
	bounded 120 /usr/bin/python3 -B "$TESTS/lib/systemd.py" boot "$SYSTEM" \
		${SYSTEM_OPTIONS:-} --with "$SYSTEM_OWNER" --setup '
		# what a service of this host has
		rm -rf "$ROOT/var/lib/fsd" "$ROOT/var/cache/fsd" "$ROOT/var/spool/fsd" \
			"$ROOT/etc/default/fsd"
		make -s -C "$TOP" -o all install-units PREFIX=/usr DESTDIR="$ROOT"
		install -D "$TOP/fsd/share/prometheus/textfile" \
			"$ROOT/usr/share/fsd/prometheus/textfile"
		cp "$FSD" "$ROOT/usr/bin/fsd"
		cp "${FSD%/*}/fsd-gateway" "$ROOT/usr/bin/fsd-gateway" 2>/dev/null ||
			cp "$TOP/build/fsd-gateway" "$ROOT/usr/bin/fsd-gateway"
		mkdir -p "$ROOT/etc/default"
		chroot "$ROOT" useradd --uid 4242 --create-home anna
		ip link set lo up
		'"${SYSTEM_SETUP:-}" 3>&- 4>&- >"$BATS_FILE_TMPDIR/pid"
}

# system_left — for teardown: the units are stopped.
system_left() {
	local stopped=1

	[ -e "$SYSTEM/pid" ] || return 0
	# shellcheck disable=SC2086
	there systemctl stop $UNITS && there systemctl reset-failed || stopped=0
	if [ -z "${BATS_TEST_COMPLETED:-}" ] || [ $stopped = 0 ]; then
		there journalctl --no-pager -o short-monotonic -n 80 >&2 || true
	fi
	[ $stopped = 0 ] || return 0
	if there systemctl show -P Version >/dev/null; then
		echo 'A unit of fsd was not stopped in time.' >&2
		there systemctl list-jobs >&2 || true
	else
		echo 'systemd itself does not answer: the next test starts another one.' >&2
	fi
	bounded 60 /usr/bin/python3 -B "$TESTS/lib/systemd.py" state "$SYSTEM" >&2 || true
	system_end
	return 1
}

# system_end — also of one that cannot be ended: it stays aside.
system_end() {
	[ -e "$SYSTEM/unshare" ] || return 0
	bounded 60 /usr/bin/python3 -B "$TESTS/lib/systemd.py" stop "$SYSTEM" || {
		mv "$SYSTEM" "$SYSTEM.$BATS_TEST_NUMBER"
		return 1
	}
}
