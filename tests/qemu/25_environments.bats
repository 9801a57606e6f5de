#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Environments: a machine that has more than the image, from layers that the test
# makes by hand. Each environment that has a job costs the making of one template:
# these have one with two layers, 27_env_warm.bats has one with one.

load ../lib/qemu
load ../lib/environment

setup_file() {
	export ENVIRONMENTS=$BATS_FILE_TMPDIR/environments
	make_data
	make_child
	make_flipped
	expect_log 'no template for .* not what its manifest says'
	file_setup --environments "$ENVIRONMENTS" --fork no --pool 0
}
teardown_file() { file_teardown; }
teardown() { jobs_done; }

DIST=usr/local/lib/python3.13/dist-packages

# What a package of each kind leaves, and names that the image has.
make_data() {
	local tree=$BATS_FILE_TMPDIR/data name
	mkdir -p "$tree/$DIST/layered" "$tree/$DIST/hidden" "$tree/usr/local/bin" \
		"$tree/node_modules/layered" "$tree/usr/sbin" "$tree/lib64" \
		"$tree/usr/lib/fsd/runners/python"
	echo 'WHO = "a Python package"' >"$tree/$DIST/layered/__init__.py"
	echo 'WHO = "hidden by the child"' >"$tree/$DIST/hidden/__init__.py"
	printf '#!/bin/sh\necho a program\n' >"$tree/usr/local/bin/layered"
	chmod 755 "$tree/usr/local/bin/layered"
	echo 'module.exports = "a Node package"' \
		>"$tree/node_modules/layered/index.js"
	for name in usr/sbin/fsd-init lib64/ld-linux-x86-64.so.2 \
		usr/lib/fsd/runners/python/call.py; do
		printf '#!/bin/sh\nexit 9\n' >"$tree/$name"
		chmod 755 "$tree/$name"
	done
	environment_make data "$tree"
}

# A layer in front of that one, which hides one of its files.
make_child() {
	local tree=$BATS_FILE_TMPDIR/child
	mkdir -p "$tree/$DIST/hidden" "$tree/$DIST/child"
	echo 'WHO = "the child"' >"$tree/$DIST/hidden/__init__.py"
	echo 'WHO = "its own"' >"$tree/$DIST/child/__init__.py"
	environment_make child "$tree" '{"env": {"LAYERED": "by the recipe"}}' data
}

# One that is not what its manifest says.
make_flipped() {
	local tree=$BATS_FILE_TMPDIR/flipped layer
	mkdir -p "$tree/$DIST/flipped"
	echo 'WHO = "never seen"' >"$tree/$DIST/flipped/__init__.py"
	layer=$ENVIRONMENTS/sets/$(environment_make flipped "$tree")/layer.erofs
	printf 'x' | dd of="$layer" bs=1 seek=200 conv=notrunc status=none
}

@test "environment: a job has the packages and programs of its layers" {
	prog code.sh '{"environment": "child"}' <<-'END'
		layered
		python3 -c 'import layered; print(layered.WHO)'
		node -e 'console.log(require("layered"))'
		echo "$LAYERED"
	END
	ok 'a program
a Python package
a Node package
by the recipe'
	result_is "$J" .environment.name child
	result_is "$J" '.environment.id == "'"$(basename "$(readlink \
		"$ENVIRONMENTS/names/child")")"'"' true
	prog code.py '{"environment": "child"}' <<-'END'
		import layered, os
		print(layered.WHO, os.environ["LAYERED"])
	END
	ok 'a Python package by the recipe'
	prog code.mjs '{"environment": "child", "env": {"LAYERED": "by the job"}}' <<-'END'
		import who from 'layered';
		console.log(who, process.env.LAYERED);
	END
	ok 'a Node package by the job'
}

@test "environment: a layer replaces no file of the image" {
	prog code.sh '{"environment": "child"}' <<-'END'
		for name in /usr/sbin/fsd-init /lib64/ld-linux-x86-64.so.2 \
			/usr/lib/fsd/runners/python/call.py; do
			head -c 40 "$name" | grep -q 'exit 9' && echo "$name"
		done
		touch /usr/local/bin/mine 2>&1 | sed 's/.*: //'
	END
	ok 'Permission denied'
	prog code.py '{"environment": "child", "mode": "call", "input": 2}' <<-'END'
		def main(n):
		    return n + 1
	END
	ok
	result_is "$J" .value 3
}

@test "environment: a job of base has nothing of it" {
	prog code.py <<<'import layered'
	ended "$J" 1 exited
	result_is "$J" .environment.name base
	result_is "$J" .environment.id null
}

@test "environment: a child's layer lies before its parent's" {
	prog code.py '{"environment": "child"}' <<-'END'
		import child, hidden, shutil
		print(child.WHO, hidden.WHO, shutil.which("layered"))
	END
	ok 'its own the child /usr/local/bin/layered'
}

@test "environment: a changed byte of a layer is found before a job runs" {
	prog code.py '{"environment": "flipped"}' <<<'print("it ran")'
	ended "$J" 125 failed
	[ -z "$(cat "$MNT/$J/stdout" 2>/dev/null)" ]
	grep -q 'layer.erofs is not what its manifest says' "$MNT/$J/error"
	prog code.py <<<'print("others run")'
	ok 'others run'
}
