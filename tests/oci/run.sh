#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh OUTDIR — the image for containers that fsd/oci/build.sh has left in OUTDIR, in podman
# as an ordinary user (ordinary.sh), with /dev/fuse and no KVM: walls, jobs, HTTP, an orderly
# end, the manifest, and each command of fsd-operate(7), CONTAINERS. TAP on standard output.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$(realpath "${1:?usage: run.sh OUTDIR}")
image=$(basename "$out"/fsd-*-amd64.tar)
version=${image#fsd-} version=${version%-amd64.tar}

if [ "${2:-}" != inside ]; then
	status=0
	# With a network; there is none inside.
	"$top/fsd/oci/build.sh" "$top/build/deb" "$out/again" >&2 || status=$?
	"$here/ordinary.sh" "$out/ordinary" "$here/run.sh" "$out" inside || status=$?
	rm -rf "$out/ordinary" "$out/again"
	exit $status
fi

log=/run/log
bound=$((120 * ${SLOW:-1}))
count=0
failed=0
# says NAME COMMAND... — one line of TAP, and the end of the log of what failed. The command
# runs in a shell of its own that ends at its first failure: behind || none would.
says() {
	local name=$1 status
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
		tail -n 40 "$log" | sed 's/^/# /'
		failed=1
	fi
}

podman() {
	as_anna timeout "$bound" podman "$@"
}

# not COMMAND... — it fails. (A command behind ! ends no shell.)
not() {
	! "$@"
}

# confined ARGUMENT... — podman run with no right at all.
confined() {
	podman run --device /dev/fuse --cap-drop all --security-opt no-new-privileges \
		-v fsd:/var/lib/fsd "$@"
}

# until_true COMMAND... — waits until it succeeds.
until_true() {
	local end=$((SECONDS + bound))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

# has TEXT PATTERN — a line of the text matches.
has() {
	echo "$1"
	grep -qE "$2" <<<"$1"
}

tag=localhost/fsd:$version

is_reproducible() {
	cmp "$out/$image" "$out/again/$image"
}

loads() {
	as_anna cp "$out/$image" "$out/fsd.yaml" .
	podman load -i "$image"
	[ "$(podman image inspect -f '{{.Config.User}}' "$tag")" = 1000:1000 ]
}

runs_privately() {
	[ "$(confined --rm "$tag" run -c 'print(6 * 7)')" = 42 ]
}

# The container's user is 1000 of anna's subordinate ids.
has_no_right() {
	confined -d --name jobs "$tag" serve
	[ "$(podman exec jobs fsd-container run -c 'print(6 * 7)')" = 42 ]
	local status
	status=$(podman exec jobs cat /proc/1/status)
	has "$status" '^CapEff:.*0000000000000000$'
	has "$status" '^CapBnd:.*0000000000000000$'
	has "$status" '^NoNewPrivs:.*1$'
	has "$status" '^Uid:.*1000'
	has "$status" '^Seccomp:.*2$'
}

# weak — the walls that are not active, of .fsd/security, a line each.
weak() {
	awk '$2 != "active" { print $1, $2 }' | sort
}

tells_walls() {
	local security doctor
	doctor=$(podman exec jobs fsd-container doctor)
	has "$doctor" '^walls +note .*qemu-user is degraded'
	has "$doctor" '^mount +ok .*user namespace of its own'
	has "$doctor" '^accel +note .*emulation'
	has "$doctor" '^jobs can run$'
	security=$(podman exec jobs fsd-container in cat /run/fsd/jobs/.fsd/security)
	echo "$security"
	diff - <(weak <<<"$security") <<-end
		hardware-virtualization absent
		hash-secret degraded
		qemu-cgroup degraded
		qemu-user degraded
		qemu-uts-namespace degraded
	end
	[ "$(grep -c '^qemu-.* active' <<<"$security")" -ge 8 ]
}

# Root of the container, and rights that end at the user namespace of the container.
has_more_walls() {
	local doctor
	doctor=$(podman run --rm --user 0 --cap-add SYS_ADMIN,SYS_PTRACE \
		--device /dev/fuse "$tag" doctor)
	has "$doctor" '^jobs can run$'
	not grep -E 'qemu-user is|qemu-uts-namespace is' <<<"$doctor"
}

takes_files() {
	podman exec jobs fsd-container in sh -ec '
		mkdir /run/fsd/jobs/hello
		echo "print(6 * 7)" >/run/fsd/jobs/hello/code.py
		echo "{}" >/run/fsd/jobs/hello/config.json
		cat /run/fsd/jobs/hello/wait /run/fsd/jobs/hello/stdout' >seen
	diff seen - <<<$'0\n42'
}

# ends_well CONTAINER — it stops with code 0 and in time, and its processes with it.
ends_well() {
	local began=$SECONDS
	podman stop -t 60 "$1"
	[ $((SECONDS - began)) -lt 40 ]
	[ "$(podman inspect -f '{{.State.ExitCode}}' "$1")" = 0 ]
	podman logs "$1" 2>&1 | grep ' info ended$'
	podman rm "$1"
	not pgrep -fa 'qemu-system|fsd mount|fsd-gateway'
	not grep -s ' /run/fsd/jobs ' /proc/[0-9]*/mounts
}

ends_interrupted() {
	podman exec -d jobs fsd-container in sh -c '
		mkdir /run/fsd/jobs/long
		printf "import time\nprint(1, flush=True)\ntime.sleep(600)\n" >/run/fsd/jobs/long/code.py
		echo "{\"timeout\": 900}" >/run/fsd/jobs/long/config.json'
	until_true sh -c 'as_anna podman exec jobs fsd-container in cat /run/fsd/jobs/long/stdout | grep 1'
	ends_well jobs
	confined -d --name jobs "$tag" serve
	until_true sh -c 'as_anna podman exec jobs fsd-container in cat /run/fsd/jobs/long/state | grep done'
	[ "$(podman exec jobs fsd-container in cat /run/fsd/jobs/hello/stdout)" = 42 ]
	podman exec jobs fsd-container in cat /run/fsd/jobs/long/result.json | jq -e '.status == "interrupted"'
	ends_well jobs
}

# ask KEY PATH [CURL...] — the gateway at port 3000 of this host.
ask() {
	curl -sS --max-time "$bound" -H "X-API-KEY: $1" "http://127.0.0.1:3000$2" "${@:3}"
}

# runs_by_http KEY — code in a sandbox of its own.
runs_by_http() {
	local sandbox
	until_true ask "$1" /healthz
	[ "$(ask wrong /sandboxes -o /dev/null -w '%{http_code}')" = 401 ]
	# The template is being made until then.
	sandbox=$(ask "$1" /sandboxes -d '{"templateID": "base"}' --fail \
		--retry "$bound" --retry-delay 1 | jq -er .sandboxID)
	has "$(ask "$1" /execute -H "E2b-Sandbox-Id: $sandbox" -d '{"code": "print(6 * 7)"}')" \
		'"stdout","text":"42'
	ask "$1" "/sandboxes/$sandbox" -X DELETE
}

wants_keys() {
	has "$(not podman run --rm --device /dev/fuse "$tag" gateway 2>&1)" \
		'the gateway has no keys: /run/secrets/fsd-keys .*FSD_KEYS'
}

wants_the_device() {
	has "$(not podman run --rm "$tag" doctor)" '^fuse +MISSING .*pass the device'
}

# Also after a failure: the next test begins anew.
forget() {
	podman pod rm -fa
	podman rm -fa
	podman secret rm -a
}

runs_the_manifest() {
	local keys
	keys=$(podman run --rm "$tag" gateway --new-key)
	# As podman 4.3 wants it.
	printf '{"keys": "%s"}' "$(base64 -w0 <<<"$keys")" | podman secret create fsd-keys -
	podman kube play --network slirp4netns fsd.yaml
	runs_by_http "$keys"
	has "$(podman exec fsd-fsd cat /proc/1/status)" '^CapBnd:.*0000000000000000$'
	has "$(podman exec fsd-fsd fsd-container doctor /run/fsd/jobs)" '^health +ok'
	podman stop -t 60 fsd-fsd
	[ "$(podman inspect -f '{{.State.ExitCode}}' fsd-fsd)" = 0 ]
	podman kube down fsd.yaml
	podman secret rm fsd-keys
}

# The examples of the section, as a script.
manual() {
	awk '/^\.SH/ { in_it = $2 == "CONTAINERS" }
		/^\.EE/ { copy = 0 }
		in_it && copy { print }
		/^\.EX/ { copy = 1 }' "$top/fsd/fsd-operate.7" |
		sed 's/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(dq/"/g; s/\\e/\\/g; s/\\&//g'
}

holds_what_the_manual_says() {
	manual | as_anna sh -c 'cat >manual.sh'
	[ "$(grep -c '^podman' manual.sh)" -ge 10 ]
	as_anna timeout $((bound * 5)) bash -exo pipefail manual.sh >manual.out
	cat manual.out
	[ "$(grep -c '^42$' manual.out)" = 2 ]
}

leaves_nothing() {
	podman volume rm fsd
	[ -z "$(podman ps -aq)$(podman pod ps -q)$(podman volume ls -q)" ]
	not pgrep -a 'conmon|slirp4netns|qemu|fsd'
}

echo 'TAP version 13'
says 'the same packages give the same image' is_reproducible
says 'an ordinary user loads it, and its user is not root' loads
says 'a program runs in a mount of its own' runs_privately
says 'a program runs in a container without any right' has_no_right
says 'doctor and .fsd/security name the walls that are weaker' tells_walls
says 'root of the container with two rights has a user for each machine' has_more_walls
says 'a program that is written as files runs' takes_files
says 'a stop is orderly, and the next start has all jobs' ends_interrupted
says 'without keys the gateway says what to do' wants_keys
says 'without the device doctor says what to do' wants_the_device
says 'the manifest serves HTTP by podman kube play' runs_the_manifest
forget >/dev/null
says 'each command of the manual runs' holds_what_the_manual_says
says 'nothing is left' leaves_nothing
echo "1..$count"
exit $failed
