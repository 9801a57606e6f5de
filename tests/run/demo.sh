#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The main job, shown: mounts a directory, drops a real program in each
# language by mkdir, cp and echo, prints what comes out and how long it took.
set -euo pipefail
cd "$(dirname "$0")/../.."

fsd=${FSD:-build/fsd}
state=${FSD_STATE:-build/state}
demo=tests/demo
mnt=$(mktemp -d "${TMPDIR:-/tmp}/fsd-demo.XXXXXX")

gateway=
spool=
finish() {
	[ -z "$gateway" ] || kill "$gateway" || true
	[ -z "$spool" ] || kill "$spool" || true
	rm -rf "$mnt.words" "$mnt.many"
	if mountpoint -q "$mnt"; then
		"$fsd" umount --now "$mnt" || true
	fi
	rmdir "$mnt"
}
trap finish EXIT
trap 'exit 130' INT TERM

say() {
	if [ -t 1 ]; then
		printf '\n\033[1m%s\033[0m\n' "$*"
	else
		printf '\n%s\n' "$*"
	fi
}

now() {
	local t=$EPOCHREALTIME
	echo $((${t%.*} * 1000 + 10#${t#*.} / 1000))
}

# Shows a command, then does it.
do_it() {
	printf '$ %s\n' "$1"
	eval "$1"
}

# Shows the log's news while a first job waits for a machine.
wait_ready() {
	local follower
	echo "waiting for the first machine (it boots once; kept in $state)"
	tail -n +"$1" -F "$state/fsd.log" 2>/dev/null |
		sed -u -n 's/^.* info machines: /  /p' &
	follower=$!
	mkdir "$mnt/first"
	echo 'echo ready' >"$mnt/first/code.sh"
	echo '{}' >"$mnt/first/config.json"
	timeout 900 cat "$mnt/first/wait" >/dev/null
	cat "$mnt/first/error"
	rm -r "$mnt/first"
	# The reader goes, and with it the pipe that tail writes to.
	kill "$follower"
	wait "$follower" 2>/dev/null || true
}

say "mount"
mkdir -p "$state"
touch "$state/fsd.log"
from=$(($(wc -l <"$state/fsd.log") + 1))
do_it "$fsd mount --daemon --state $state $mnt"
wait_ready "$from"
do_it "cat $mnt/.fsd/health"

# job NAME FILE CODE CONFIG [INPUT AS]: one job, timed from its first write.
job() {
	local name=$1 file=$2 code=$3 config=$4 start
	say "$name"
	start=$(now)
	do_it "mkdir $mnt/$name"
	[ $# -lt 5 ] || do_it "$5"
	do_it "cp $demo/$file $mnt/$name/$code"
	do_it "echo '$config' > $mnt/$name/config.json"
	do_it "cat $mnt/$name/wait" >/dev/null
	printf '  (%s ms until exit_code)\n' $(($(now) - start))
	do_it "cat $mnt/$name/stdout"
	[ ! -s "$mnt/$name/stderr" ] || do_it "cat $mnt/$name/stderr"
	do_it "cat $mnt/$name/exit_code"
}

numbers="printf '%s\\n' 1 2 3 > $mnt/python/numbers.txt"
job python hello.py code.py '{"args": ["one", "two words"]}' "$numbers"
do_it "cat $mnt/python/output/squares.csv"
do_it "cat $mnt/python/result.json"
job javascript hello.js code.js '{}'
job typescript hello.ts code.ts '{}'
job bash hello.sh code.sh '{"stdin": "world\n"}'
job awk hello.awk code '{}'

say "the tree"
do_it "ls -l $mnt/python $mnt/python/output"
do_it "rm -r $mnt/python $mnt/javascript $mnt/typescript $mnt/bash $mnt/awk"

say "the gateway: E2B's protocol, MCP and RAGFlow in front of the mount"
mkfifo "$mnt.words"
"$fsd" gateway --mount "$mnt" --listen 127.0.0.1:0 2>"$mnt.words" &
gateway=$!
exec 4<"$mnt.words"
rm "$mnt.words"
url=
while IFS= read -r -t 20 line <&4; do
	case $line in
	*' listening on '*) url=http://${line##*listening on } ;;
	*' ready: '*) break ;;
	esac
done
do_it "python3 $demo/e2b.py $url"
kill "$gateway"
wait "$gateway"
gateway=
exec 4<&-
echo "It has ended. To start it again, with its dashboard at http://127.0.0.1:3000/ui:"
echo "  $fsd mount --daemon --state $state ~/jobs && $fsd gateway --mount ~/jobs"

# until_there PATH — waits for it, for a minute at most.
until_there() {
	local n
	for ((n = 0; n < 600; n++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	echo "$1 did not appear" >&2
	return 1
}

say "a batch: one program, twelve inputs"
many=$mnt.many
mkdir -p "$many/in"
do_it "for n in \$(seq 12); do echo line \$n > $many/in/\$n; done"
do_it "$fsd batch --mount $mnt -o $many/out --progress none -c 'import sys
print(open(sys.argv[1]).read().upper(), end=\"\")' $many/in/*"
do_it "$fsd batch --cat $many/out | sort -V | tail -n 2"
do_it "cut -f 1,4,5,7 $many/out/results.tsv | head -n 3"

say "a spool: a directory to drop files into"
"$fsd" spool --mount "$mnt" "$many/drop" 2>"$many/spool.log" &
spool=$!
until_there "$many/drop/new"
do_it "cp $demo/hello.sh $many/drop/tmp/ && mv $many/drop/tmp/hello.sh $many/drop/new/"
until_there "$many/drop/done/hello.sh" || { cat "$many/spool.log" >&2; exit 1; }
do_it "cat $many/drop/done/hello.sh/stdout"
kill "$spool"
wait "$spool"
spool=

say "unmount"
do_it "$fsd umount $mnt"
