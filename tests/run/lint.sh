#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# lint.sh GROUP... — what the compiler does not see, one TAP check each. Groups:
#
#   rules   the one-way doors between the rooms, the sentences of the
#           architecture that must stay true, sizes, manual pages
#   shell   shellcheck
#   static  cppcheck
#
# Only files that git knows, or would add, are looked at.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

count=0
bad=0

# verdict NAME FINDINGS — passes if there are none.
verdict() {
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
	else
		bad=1
		echo "not ok $count - $1"
		head -n 40 <<<"$2" | sed 's/^/#   /'
	fi
}

mapfile -t files < <(git ls-files --cached --others --exclude-standard |
	while read -r f; do [ -f "$f" ] && echo "$f"; done)

# matching REGEX — those of the files whose path matches.
matching() {
	printf '%s\n' "${files[@]}" | grep -E "$1"
}

# grep_in PATHS-REGEX PATTERN — "file:line: text" of code, comments left out.
grep_in() {
	local list
	mapfile -t list < <(matching "$1")
	[ ${#list[@]} -gt 0 ] || return 0
	grep -nHE "$2" "${list[@]}" | grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*)'
}

# doors ROOM-REGEX ALLOWED — what a room includes by quotes, resolved from the
# including file, must match ALLOWED or lie in the room itself.
doors() {
	local list file line target folder
	mapfile -t list < <(matching "$1")
	[ ${#list[@]} -gt 0 ] || return 0
	grep -nHE '^[[:space:]]*#[[:space:]]*include "' "${list[@]}" |
		while IFS=: read -r file line target; do
			target=${target#*\"}
			target=${target%%\"*}
			folder=${file%/*}
			if [ -e "$folder/$target" ]; then
				target=$folder/$target
				[[ $target != *./* && $target != *//* ]] ||
					target=$(realpath -m --relative-to=. "$target")
			fi
			[ "${target%/*}" = "$folder" ] ||
				[[ $target =~ ^($2)$ ]] ||
				echo "$file:$line: includes $target"
		done
}

check_doors() {
	verdict 'layout/ includes nobody above it' \
		"$(doors '^layout/.*\.[ch]$' 'layout/[^/]+\.h|layout/(base|network)/[^/]+\.h')"
	verdict 'layout/base/ knows nothing of jobs' \
		"$(doors '^layout/base/.*\.[ch]$' 'layout/base/[^/]+\.h')"
	verdict 'guest/ includes layout/{env,limits}.h and layout/base/ only' \
		"$(doors '^guest/.*\.[ch]$' \
		'layout/(env|limits)\.h|layout/base/[^/]+\.h|guest/(wire|os|net|files|run|agent|warm)/[^/]+\.h|guest/runners/(hold|populate)\.h')"
	verdict 'vm/ includes guest/wire/, layout/{environment,packages}.h and layout/base/ only' \
		"$(doors '^vm/(os/|environment/|jail/|channel/|qemu/|pool/|fake/)?[^/]*\.[ch]$' \
			'guest/wire/[^/]+\.h|layout/(environment|packages|base/[^/]+)\.h|vm/(zygote/wire|[^/]+|(os|environment|jail|channel|net|qemu|pool|fake)/[^/]+)\.h')"
	verdict 'vm/net/ includes guest/wire/, layout/network/, layout/base/ and vm/ below it only' \
		"$(doors '^vm/net/.*\.[ch]$' \
			'guest/wire/[^/]+\.h|layout/(base|network)/[^/]+\.h|vm/os/[^/]+\.h')"
	# it lives in QEMU's process
	verdict "vm/zygote/ includes what a jail's child is made with only" \
		"$(doors '^vm/zygote/.*\.[ch]$' \
			'vm/([a-z]+/)?(argv|jail_child|fdpass)\.h|layout/base/num\.h')"
	verdict 'fsd/ includes the doors of vm/ and layout/ only' \
		"$(doors '^fsd/.*\.[ch]$' \
			'fsd/.+\.h|vm/(vm|backend)\.h|vm/net/network\.h|vm/([a-z]+/)?(environment|catalog|write|replay|mux|loop|spawn|jailer|fdpass|rights|uids|sha|door_wire)\.h|layout/(layout|json|network/[^/]+)\.h' |
			grep -v '^fsd/gateway/')"
	verdict 'fsd/gateway/ includes itself, layout/ and vm/os/rights.h only' \
		"$(doors '^fsd/gateway/.*\.[ch]$' \
			'fsd/gateway/.+\.h|vm/os/rights\.h|layout/[^/]+\.h|layout/base/[^/]+\.h')"
	verdict 'only layout/json.h and vm/qemu/qmp*.c know the JSON library' "$(
		grep_in '^(layout|guest|vm|fsd)/.*\.[ch]$' 'include <jansson\.h>' |
			grep -vE '^layout/json\.h:|^vm/([a-z]+/)?qmp[a-z_]*\.c:'
		grep_in '^(layout|guest|vm|fsd)/.*\.[ch]$' 'include ".*json\.h"' |
			grep -vE '^layout/(json|config|config_[a-z]+|environment_texts|event_line|result|result_brief|network/(wish|policy))\.[ch]:|^fsd/(client/job_view|cli/cmd_env_show|batch/(identity|record)|door/files)\.c:|^fsd/gateway/'
	)"
}

check_sentences() {
	verdict 'only fsd/fuse/ and fsd/mount/blocked_reads.c reply to the kernel' \
		"$(grep_in '^(layout|guest|vm|fsd)/.*\.[ch]$' '\<fuse_reply_' |
			grep -vE '^fsd/(fuse/op[a-z_]*|mount/blocked_reads)\.c:')"
	verdict 'every error goes to the kernel with its sentence (fsd/fuse/ops_refusal.h)' \
		"$(grep_in '^fsd/.*\.[ch]$' '\<fuse_reply_err\>' |
			grep -vE '^fsd/(fuse/ops_refusal|mount/blocked_reads)\.c:')"
	verdict "only fsd/jobs/job_state.c assigns a job's state" \
		"$(grep_in '^fsd/.*\.[ch]$' \
			'\<(job|j)->meta\.state[[:space:]]*=[^=]' |
			grep -vE '^fsd/([a-z]+/)?job_state\.c:')"
	verdict "only vm/pool/machine.c assigns a machine's state" \
		"$(grep_in '^vm/.*\.[ch]$' \
			'\<(machine|m)(->|\.)state[[:space:]]*=[^=]' |
			grep -vE '^vm/([a-z]+/)?machine\.c:')"
	# fsd/server/daemonize.c, fsd/spool/spool.c, vm/fake/fake_relay.c: before there is a thread,
	# a loop or a mount
	verdict 'only vm/os/spawn.c, the jailer, zygotes, daemonize.c, spool.c, fake_relay.c and guest/ fork' \
		"$(grep_in '^(layout|vm|fsd)/.*\.[ch]$' \
			'\<(fork|vfork|clone|clone3|posix_spawnp?|system|popen|daemon)[[:space:]]?\(|SYS_clone' |
			grep -vE '^(vm/([a-z]+/)?(spawn|jailer|jail_slot|jail_pages)|vm/(zygote/[a-z]+|fake/fake_relay)|fsd/([a-z]+/)?(daemonize|spool))\.c:')"
	verdict 'nothing sleeps to synchronise' \
		"$(grep_in '^(layout|guest|vm|fsd)/.*\.[ch]$' \
			'\<(sleep|usleep|nanosleep|clock_nanosleep)[[:space:]]?\(')"
	verdict 'no unbounded string functions' \
		"$(grep_in '^(layout|guest|vm|fsd)/.*\.[ch]$' \
			'\<(gets|strcat|sprintf|vsprintf|strtok|alloca|atoi)[[:space:]]?\(')"
}

sources='\.(c|h|sh|bash|bats|py|js|mjs|ts)$|^Makefile$|^\.ci/run$'

check_texts() {
	local list
	# tests/demo/ and the like have programs as a user writes them
	mapfile -t list < <(matching "$sources" |
		grep -vE '/corpus/|^tests/(demo|same/programs)/')
	verdict 'every source names its licence' "$(awk '
		FNR <= 4 && /SPDX-License-Identifier: Apache-2\.0/ { named[FILENAME] = 1 }
		END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in named))
			print ARGV[i] " has no SPDX line" }' "${list[@]}")"
	verdict 'no host of a package registry is named' "$(
		grep -nHIE '(pypi|pythonhosted|npmjs|rubygems|crates)\.(org|io|com)|(deb|ftp|security|snapshot|archive)\.(debian|ubuntu)\.|\<(docker|quay|ghcr)\.io|golang\.org/proxy' \
			"${files[@]}"
	)"
	verdict 'each test is in a drawer, under a number of its own' "$(
		matching '^tests/unit/[^/]*_test\.c$'
		matching '^tests/[a-z]+/[0-9]+_.*\.bats$' |
			sed -E 's|^(tests/[a-z]+/[0-9]+)_.*|\1|' | sort | uniq -d |
			sed 's/$/ is used twice/'
	)"
	verdict 'nothing is left for later' "$(
		grep_in "$sources" '\<(TODO|FIXME|XXX|HACK)\>' |
			grep -v '^tests/run/lint\.sh:'
	)"
}

# Lines of the functions of a file in the project's own layout.
functions() {
	awk '/^\{/ { start = FNR }
	     /^\}/ && start { n = FNR - start - 1; start = 0
		if (n > 80) print FILENAME ":" FNR ": a function of " n " lines" }
	' "$@"
}

check_sizes() {
	local found
	mapfile -t list < <(matching '^(layout|guest|vm|fsd)/.*\.[ch]$')
	found=$(wc -l "${list[@]}" | awk '$2 != "total" && $1 > 600 {
		print $2 " has " $1 " lines" }')
	verdict 'no file is longer than 600 lines' "$found"
	verdict 'no function is longer than 80 lines' "$(functions "${list[@]}")"
}

check_pages() {
	local page
	for page in $(matching '\.[1-8]$' | grep -v '/corpus/'); do
		verdict "$page is a good manual page" \
			"$(man --warnings -l "$page" 2>&1 >/dev/null)"
	done
}

check_shell() {
	local scripts
	mapfile -t scripts < <(matching '' |
		grep -vE '/corpus/|^tests/same/programs/' |
		while read -r f; do
			head -n 1 "$f" | tr -d '\0' |
				grep -qE '^#!.*\<(ba)?sh\>|^#!.*\<bats\>' && echo "$f"
		done)
	# SC1007: `local a= b=` is the dialect here
	verdict 'shell scripts pass shellcheck' \
		"$(shellcheck -x -f gcc -S warning -e SC1007 "${scripts[@]}" 2>&1)"
}

# static FILE... — what cppcheck finds in them.
static() {
	timeout 300 cppcheck --quiet \
		--std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppressions-list=tests/run/cppcheck.txt \
		--cppcheck-build-dir=build/cppcheck -j"$(nproc)" \
		-I. -D_GNU_SOURCE -DFSD_BACKEND=vm_backend_qemu \
		--include=tests/run/cppcheck.h \
		--template='{file}:{line}: {id}: {message}' "$@" 2>&1
}

check_static() {
	mkdir -p build/cppcheck
	mapfile -t list < <(matching '^(layout|guest|vm|fsd)/.*\.c$')
	verdict 'cppcheck finds nothing' "$(static "${list[@]}")"
	# it says nothing of a file that its options do not let it read
	echo 'int beyond(void) { int a[2]; a[3] = 1; return a[3]; }' \
		>build/cppcheck/beyond.c
	verdict 'cppcheck finds a fault that is there' \
		"$(static build/cppcheck/beyond.c | grep -q arrayIndexOutOfBounds ||
			echo 'cppcheck does not see it')"
}

check_rules() {
	check_doors
	check_sentences
	check_texts
	check_sizes
	check_pages
}

for group in "${@:?lint.sh rules|shell|static}"; do
	"check_$group"
done
echo "1..$count"
exit $bad
