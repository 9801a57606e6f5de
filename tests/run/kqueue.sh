#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kqueue.sh SOURCE... — compiles and links a test of the spool's watcher and claims, with
# these sources, for systems that have kqueue(2). A warning is an error. Speaks TAP.
#
# The compiler, with the headers of all these systems, is a package of Python's registry:
# 100 MB, into build/kqueue, once. Nothing of another system runs here.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

version=0.17.0
dir=build/kqueue
flags=(-std=c11 -iquote . -D_GNU_SOURCE -O1 -Wall -Wextra -Wshadow -Wpointer-arith
	-Wcast-qual -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla
	-Wformat=2 -Werror)
# macOS has other names for the times of stat(2); the first libc of NetBSD that has what
# its own headers here name is that of 11.
targets=(
	"FreeBSD x86_64-freebsd"
	"NetBSD x86_64-netbsd.11.0"
	"macOS aarch64-macos -Dst_mtim=st_mtimespec -Dst_ctim=st_ctimespec -Dst_atim=st_atimespec"
)

if [ ! -d "$dir/zig-$version" ]; then
	rm -rf "$dir/zig.new"
	/usr/bin/python3 -m pip install --quiet --root-user-action ignore \
		--only-binary :all: --target "$dir/zig.new" "ziglang==$version" &&
		mv "$dir/zig.new" "$dir/zig-$version" || exit 1
fi
export PYTHONPATH=$dir/zig-$version
export ZIG_GLOBAL_CACHE_DIR=$dir/cache ZIG_LOCAL_CACHE_DIR=$dir/cache

count=0
bad=0
for target in "${targets[@]}"; do
	read -ra words <<<"$target"
	count=$((count + 1))
	if timeout 900 /usr/bin/python3 -m ziglang cc -target "${words[1]}" "${flags[@]}" \
		"${words[@]:2}" -o "$dir/${words[0]}" "$@" \
		tests/unit/fsd/spool_kqueue_test.c >"$dir/log" 2>&1; then
		echo "ok $count - the spool's watcher and claims compile and link for ${words[0]}"
	else
		bad=1
		echo "not ok $count - the spool's watcher and claims compile and link for ${words[0]}"
		head -n 40 "$dir/log" | sed 's/^/#   /'
	fi
done
echo "1..$count"
exit $bad
