#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh PART... — runs parts of the tests, one TAP document a program, and
# adds them up: a line a part, then "N passed, N failed, N skipped" as the very
# last line. The status is 0 only if nothing failed. A program that ends badly
# without a "not ok", or whose plan does not match what it ran, counts as one
# failure more. What each program printed stays in build/check/PART/.
#
#   build      everything compiles without a warning
#   lint       doors, static analysis, shell scripts, manual pages
#   unit asan  the unit tests; the same with sanitizers
#   bats bats-asan  the daemon on fake machines through a real mount
#   qemu       the daemon on real machines
#   box        the same on a Debian 12 with KVM, which is a machine itself
#   fault      the daemon is killed, its store fails; the short form
#   fuzz       every fuzzer on its corpus, then for FUZZ_TIME seconds (5)
#
# PARTS of bats files: BATS_FILES="a.bats b.bats" chooses them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

make=${MAKE:-make}
jobs=$(nproc)
out=build/check
passed=0 failed=0 skipped=0
summary=()
part=

# tap NAME SECONDS COMMAND... — one TAP document.
tap() {
	local name=$1 limit=$2 log=$out/$part/$1.tap status counts p f s why
	shift 2
	timeout -k 10 "$limit" "$@" 2>&1 </dev/null | tee "$log"
	status=${PIPESTATUS[0]}
	counts=$(awk '
		/^not ok/ { f++; next }
		/^ok/ { if (tolower($0) ~ /# skip/) s++; else p++ }
		/^1\.\.[0-9]+/ { plan = substr($1, 4); plans++ }
		END { n = p + f + s
		      print p + 0, f + 0, s + 0, (plans == 1 && plan == n) }
	' "$log")
	read -r p f s good <<<"$counts"
	why=
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		why="did not end within $limit seconds"
	elif [ "$status" != 0 ] && [ "$f" = 0 ]; then
		why="ended with status $status"
	elif [ "$good" != 1 ]; then
		why="ran $((p + f + s)) tests, which is not what it planned"
	fi
	if [ -n "$why" ]; then
		echo "not ok - $name $why" | tee -a "$log"
		f=$((f + 1))
	fi
	part_passed=$((part_passed + p))
	part_failed=$((part_failed + f))
	part_skipped=$((part_skipped + s))
}

# verdict LINE — a line of TAP that this script speaks by itself.
verdict() {
	echo "$1" | tee -a "$out/$part/verdicts"
}

# one NAME SECONDS COMMAND... — a command that is one test by itself.
one() {
	local name=$1 limit=$2 log=$out/$part/${1// /-}.log
	shift 2
	if timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null; then
		verdict "ok - $name"
		part_passed=$((part_passed + 1))
	else
		verdict "not ok - $name (status $?)"
		tail -n 60 "$log" | sed 's/^/# /'
		part_failed=$((part_failed + 1))
	fi
}

none() {
	verdict "not ok - $part has no tests: $*"
	part_failed=$((part_failed + 1))
}

run_build() {
	one 'the products compile without a warning' 900 \
		"$make" --no-print-directory -j"$jobs" all
}

run_lint() {
	tap doors 120 tests/lint.sh
}

# units VARIANT
units() {
	local test tests=(tests/unit/*_test.c)
	one "the unit tests compile ($1)" 900 \
		"$make" --no-print-directory -j"$jobs" VARIANT="$1" unit
	[ -e "${tests[0]}" ] || none 'tests/unit/*_test.c'
	for test in "${tests[@]}"; do
		test=$(basename "$test" .c)
		# what QEMU loads cannot be loaded beside a sanitizer
		[ "$1/$test" != asan/zygote_test ] || continue
		echo "# $part $test"
		tap "$test" 180 "build/$1/tests/unit/$test"
	done
}
run_unit() { units release; }
run_asan() { units asan; }

# bats_file FILE SECONDS
bats_file() {
	echo "# $part $1"
	tap "$(basename "$1" .bats)" "$2" bats --tap "$1"
}

# beside COMMAND... — as a process; what it prints comes when it has ended, and
# what it counted with gathered().
beside() {
	local sum
	sum=$(mktemp "$out/$part/beside.XXXXXX")
	{
		part_passed=0 part_failed=0 part_skipped=0
		"$@" >"$sum.out" 2>&1
		flock "$out/$part/beside" cat "$sum.out"
		echo "$part_passed $part_failed $part_skipped" >"$sum"
	} &
}

gathered() {
	local sum p f s
	wait
	for sum in "$out/$part"/beside.??????; do
		[ -e "$sum" ] || continue
		read -r p f s <"$sum" || p=0 f=1 s=0
		part_passed=$((part_passed + p))
		part_failed=$((part_failed + f))
		part_skipped=$((part_skipped + s))
		rm "$sum" "$sum.out"
	done
}

# bats_dir DIRECTORY FSD SECONDS [LANES] — so many files at a time, but those
# alone that measure ("# alone" in a line).
bats_dir() {
	local file files=("$1"/*.bats) lanes=${4:-1} alone=()
	[ -z "${BATS_FILES:-}" ] || read -ra files <<<"$BATS_FILES"
	[ -e "${files[0]}" ] || none "$1/*.bats"
	[ -x "$2" ] || none "$2 was not built"
	FSD=$(realpath "$2")
	export FSD
	for file in "${files[@]}"; do
		[ -e "$file" ] || continue
		if [ "$lanes" = 1 ] || grep -q '^# alone' "$file"; then
			alone+=("$file")
			continue
		fi
		while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do
			wait -n
		done
		beside bats_file "$file" "$3"
	done
	gathered
	for file in "${alone[@]}"; do
		bats_file "$file" "$3"
	done
	unset FSD
}
run_bats() {
	one 'the daemon on fake machines compiles' 900 \
		"$make" --no-print-directory -j"$jobs" build/fsd-fake
	bats_dir tests build/fsd-fake 900 "$jobs"
}
run_bats_asan() {
	one 'the daemon compiles with sanitizers' 900 "$make" \
		--no-print-directory -j"$jobs" VARIANT=asan build/asan/bin/fsd-fake
	ASAN_OPTIONS=abort_on_error=0:exitcode=99 \
	UBSAN_OPTIONS=print_stacktrace=1 \
		bats_dir tests build/asan/bin/fsd-fake 1800 "$jobs"
	SLOW=4 tap chaos 240 /usr/bin/python3 -B tests/fault/chaos.py \
		--seconds 5 --seed 1 --program build/asan/bin/fsd-fake
}
run_qemu() {
	one 'the guest image is built' 1800 \
		"$make" --no-print-directory -j"$jobs" all image bare build/hostile/raw
	bats_dir tests/qemu build/fsd 1800
}

run_box() {
	one 'the guest image is built' 1800 \
		"$make" --no-print-directory -j"$jobs" all image \
		build/release/tests/box/tsc
	one 'the box is built' 1800 tests/box/build.sh build/box
	BOX_SECONDS=3600 tap box 3660 tests/box/run.sh
}

# The long forms are `make fault` and `make soak`.
run_fault() {
	local python=(/usr/bin/python3 -B)
	one 'the daemon on fake machines compiles' 900 \
		"$make" --no-print-directory -j"$jobs" build/fsd-fake
	tap self 60 "${python[@]}" tests/fault/self_test.py
	tap kills 120 "${python[@]}" tests/fault/kills.py --kills 100 --seed 1
	tap calls 120 "${python[@]}" tests/fault/calls.py --runs 60 --seed 1
	tap crash 120 "${python[@]}" tests/fault/crash.py --states 60 --seed 1
	tap damage 120 "${python[@]}" tests/fault/damage.py --runs 30 --seed 1
	tap chaos 120 "${python[@]}" tests/fault/chaos.py --seconds 5 --seed 1
	tap soak 240 "${python[@]}" tests/fault/soak.py --seconds 30 --seed 1
}

run_fuzz() {
	local target name corpus targets=(tests/fuzz/*_fuzz.c)
	local seconds=${FUZZ_TIME:-5} found=build/fuzz/found
	one 'the fuzzers compile' 900 \
		"$make" --no-print-directory -j"$jobs" VARIANT=fuzz fuzzers
	[ -e "${targets[0]}" ] || none 'tests/fuzz/*_fuzz.c'
	mkdir -p "$found"
	for target in "${targets[@]}"; do
		name=$(basename "$target" _fuzz.c)
		corpus=tests/fuzz/corpus/$name
		mkdir -p "$found/$name"
		one "$name survives its corpus and $seconds seconds of noise" \
			$((seconds + 120)) "build/fuzz/tests/fuzz/${name}_fuzz" \
			-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
			-max_len=65536 -print_final_stats=1 \
			-artifact_prefix="$found/$name-" "$found/$name" "$corpus"
	done
}

for part in "$@"; do
	run=run_${part//-/_}
	if ! declare -F "$run" >/dev/null; then
		echo "run.sh: there is no part \"$part\"" >&2
		exit 2
	fi
	rm -rf "${out:?}/$part"
	mkdir -p "$out/$part"
	part_passed=0 part_failed=0 part_skipped=0
	began=$SECONDS
	echo "### $part"
	"$run"
	summary+=("$(printf '%-10s %5d passed %5d failed %5d skipped %5d s' \
		"$part" $part_passed $part_failed $part_skipped \
		$((SECONDS - began)))")
	passed=$((passed + part_passed))
	failed=$((failed + part_failed))
	skipped=$((skipped + part_skipped))
done

echo
printf '%s\n' "${summary[@]}"
if [ "$failed" -gt 0 ]; then
	echo
	echo 'what failed (all output is in build/check/):'
	for part in "$@"; do
		grep -rhE '^not ok' "$out/$part" 2>/dev/null |
			sed "s/^/$part: /" | head -n 50
	done
fi
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
