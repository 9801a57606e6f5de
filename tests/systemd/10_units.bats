#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The units, under a systemd of their own on fake machines: when they are ready, what a
# reload and a stop do to jobs, and what comes back after a death.

load ../lib/common
load ../lib/systemd

setup_file() {
	system_start
}

setup() {
	system_start
	options ''
}

teardown() {
	system_left
}

teardown_file() {
	system_end
}

@test "systemd tells nobody of its progress, for whom it might wait" {
	run ! grep -F "$SYSTEM/notify" /proc/net/unix
}

@test "systemd finds nothing wrong with the units" {
	run there sh -c 'systemd-analyze verify --man=no /usr/lib/systemd/system/fsd* &&
		XDG_RUNTIME_DIR=/run systemd-analyze verify --man=no --user /usr/lib/systemd/user/fsd*'
	assert_success
	refute_output --partial fsd
}

@test "the service is ready when the mount answers, and everybody sees it" {
	for _ in 1 2 3; do
		there systemctl start fsd
		assert_equal "$(property fsd StatusErrno)" 0
		run there cat /run/fsd/jobs/.fsd/health
		assert_success
		assert_equal "$(anna sh -c 'fsd run -c "out by anna"')" 'by anna'
		there systemctl stop fsd
		assert_equal "$(property fsd Result)" success
		run ! there mountpoint -q /run/fsd/jobs
	done
}

@test "a service that cannot start says why, as an error in the journal" {
	options "--pool many"
	run ! there systemctl start fsd
	run there journalctl --no-pager -o cat -u fsd -p err
	assert_output --partial '--pool is "many"'
}

@test "the journal has the priority of each line, and no second time" {
	options '--log-level debug'
	there systemctl start fsd
	run there journalctl --no-pager -o cat -u fsd -p 6..6
	assert_line --regexp '^info '
	refute_output --partial 'Z info '
	run there journalctl --no-pager -o cat -u fsd -p err
	refute_output --regexp $'(^|\n)(info|debug) '
}

@test "a reload goes on with the program that is installed, and nothing that was done is lost" {
	there systemctl start fsd
	local main server
	main=$(property fsd MainPID)
	server=$(there getfattr --absolute-names --only-values -n user.fsd.pid /run/fsd/jobs)
	job one 'out before'
	assert_equal "$(there cat /run/fsd/jobs/one/wait)" 0
	there systemctl reload fsd
	assert_equal "$(property fsd MainPID)" "$main"
	[ "$(there getfattr --absolute-names --only-values -n user.fsd.pid /run/fsd/jobs)" != "$server" ]
	assert_equal "$(there cat /run/fsd/jobs/one/stdout)" before
	job two 'out after'
	assert_equal "$(there cat /run/fsd/jobs/two/wait)" 0
}

@test "with FSD_UPGRADE empty a reload waits for the job that runs" {
	there sh -c 'echo "FSD_UPGRADE=\"\"" >>/etc/default/fsd'
	there systemctl start fsd
	job waited $'out begun\nsleep 1000\nout ended'
	there sh -c 'until grep -q begun /run/fsd/jobs/waited/stdout; do :; done'
	there systemctl reload fsd
	assert_equal "$(there cat /run/fsd/jobs/waited/exit_code)" 0
	assert_equal "$(there cat /run/fsd/jobs/waited/stdout)" $'begun\nended'
}

@test "a stop waits for the job that runs" {
	there systemctl start fsd
	job long $'out begun\nsleep 1000\nout ended'
	there sh -c 'until grep -q begun /run/fsd/jobs/long/stdout; do :; done'
	there systemctl stop fsd
	assert_equal "$(property fsd Result)" success
	there systemctl start fsd
	assert_equal "$(there cat /run/fsd/jobs/long/stdout)" $'begun\nended'
}

@test "a service whose mount was ended by fsd umount has ended, too" {
	there systemctl start fsd
	there fsd umount /run/fsd/jobs
	# shellcheck disable=SC2016 # for the other shell
	there sh -c 'until [ "$(systemctl show -P SubState fsd)" = dead ]; do sleep 0.1; done'
	assert_equal "$(property fsd Result)" success
	assert_equal "$(property fsd NRestarts)" 0
}

@test "a supervisor that is killed comes back, with all that was done" {
	there systemctl start fsd
	job kept 'out kept'
	assert_equal "$(there cat /run/fsd/jobs/kept/wait)" 0
	local main
	main=$(property fsd MainPID)
	there kill -KILL "$main"
	# shellcheck disable=SC2016 # for the other shell
	there timeout $((20 * SLOW)) sh -c 'until
		[ "$(systemctl show -P MainPID fsd)" != "$1" ] &&
		[ "$(systemctl show -P ActiveState fsd)" = active ]; do sleep 0.1; done' x "$main"
	assert_equal "$(there cat /run/fsd/jobs/kept/stdout)" kept
	job next 'out next'
	assert_equal "$(there cat /run/fsd/jobs/next/wait)" 0
}

@test "a user's own service is found before the host's" {
	there systemctl start fsd
	there systemctl start user@4242.service
	anna systemctl --user start fsd
	anna mountpoint -q /run/user/4242/fsd/jobs
	anna fsd run -c 'out mine'
	# the host's is not asked for it
	run there journalctl -q -o cat --grep 'of user 4242' \
		"_SYSTEMD_INVOCATION_ID=$(property fsd InvocationID)"
	assert_output ''
	there journalctl -q -o cat _SYSTEMD_USER_UNIT=fsd.service --grep 'of user 4242.*starts'
	anna systemctl --user stop fsd
	run ! anna mountpoint -q /run/user/4242/fsd/jobs
	there systemctl stop user@4242.service
}

@test "no unit ends because the kernel kills a machine for its memory" {
	local unit
	for unit in fsd fsd-template; do
		assert_equal "$(property $unit OOMPolicy)" continue
	done
	there systemctl start user@4242.service
	assert_equal "$(anna systemctl --user show -P OOMPolicy fsd)" continue
	there systemctl stop user@4242.service
}

@test "a spool of a user is made and served" {
	there systemctl start fsd-spool@anna
	assert_equal "$(there stat -c '%U %a' /var/spool/fsd/anna)" 'anna 700'
	# shellcheck disable=SC2016 # for the other shell
	anna timeout $((20 * SLOW)) sh -ec 'cd /var/spool/fsd/anna
		until [ -d new ]; do sleep 0.1; done
		echo "out spooled" >tmp/a.sh && mv tmp/a.sh new/
		until [ -d done/a.sh ]; do sleep 0.1; done'
	assert_equal "$(there cat /var/spool/fsd/anna/done/a.sh/stdout)" spooled
}

@test "the gateway serves the mount as a user of its own, also after the mount came anew" {
	there systemd-sysusers
	there systemctl start fsd-gateway
	local look='timeout 60 sh -c "until curl -fsS http://127.0.0.1:3000/healthz; do sleep 0.1; done"'
	there sh -c "$look"
	assert_equal "$(property fsd-gateway User)" fsd-gateway
	there systemctl restart fsd
	there sh -c "$look"
}

@test "the figures are copied for node_exporter, and of a spool nothing but its own" {
	there systemctl start fsd-spool@anna
	# shellcheck disable=SC2016 # for the other shell
	there timeout $((20 * SLOW)) sh -c 'until [ -s /var/spool/fsd/anna/status ]; do
		sleep 0.1; done'
	there sh -ec 'mkdir -p /var/lib/prometheus/node-exporter
		install -d -o nobody -g nogroup /var/spool/fsd/bad /var/spool/fsd/bad/new
		echo fsd_spool_secret 1 >/root/secret && chmod 600 /root/secret
		ln -sfn /root/secret /var/spool/fsd/bad/status'
	there systemctl start fsd-stats
	there sh -ec 'cd /var/lib/prometheus/node-exporter
		grep -x "fsd_healthy 1" fsd.prom
		grep ^fsd_spool_new fsd-spool-anna.prom
		! grep secret fsd-spool-bad.prom
		rm -r /var/spool/fsd/bad /var/spool/fsd/anna'
}

@test "a state that was copied while the service was stopped serves elsewhere" {
	there systemctl start fsd
	job copied 'out kept'
	assert_equal "$(there cat /run/fsd/jobs/copied/wait)" 0
	there systemctl stop fsd
	there sh -ec 'tar -C /var/lib --exclude fsd/templates -cSf /root/fsd.tar fsd
		rm -r /var/lib/fsd
		tar -C /var/lib -xf /root/fsd.tar'
	run there fsd doctor --state /var/lib/fsd
	assert_line --regexp '^format +ok'
	assert_line --regexp '^lost +ok'
	there systemctl start fsd
	assert_equal "$(there cat /run/fsd/jobs/copied/stdout)" kept
}
