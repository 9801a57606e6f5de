#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Environments: a machine that has more than the image, from layers that the test
# makes by hand. Their modules are warm: they are there before the program, nothing
# that they have drawn is shared, and a program that could see them begins afresh.
#
# Each environment that has a job costs the making of one template: all these tests
# have one, of two layers.

load ../lib/qemu
load ../lib/environment

setup_file() {
	export ENVIRONMENTS=$BATS_FILE_TMPDIR/environments
	make_data
	make_warm
	make_flipped
	make_fatal
	expect_log 'no template for .* not what its manifest says'
	# With the default one no template of base is needed. Twenty machines at a time
	# would take more of the processors than one behind another.
	file_setup --environments "$ENVIRONMENTS" --default-environment warm \
		--fork no --pool 0 --max-machines 3
}
teardown_file() {
	file_teardown
	# The next run makes it again, and looks at how.
	[ ! -s "$BATS_FILE_TMPDIR/template" ] ||
		rm -rf "$STATE/templates/$(<"$BATS_FILE_TMPDIR/template")"
}
teardown() { jobs_done; }

DIST=usr/local/lib/python3.13/dist-packages

# What a package of each kind leaves, and names that the image has.
make_data() {
	local tree=$BATS_FILE_TMPDIR/data name
	mkdir -p "$tree/$DIST/layered" "$tree/$DIST/hidden" "$tree/usr/local/bin" \
		"$tree/node_modules/layered" "$tree/usr/sbin" "$tree/lib64" \
		"$tree/usr/lib/fsd/runners/python" "$tree/etc/ssl/certs"
	echo 'WHO = "a Python package"' >"$tree/$DIST/layered/__init__.py"
	echo 'WHO = "hidden by the child"' >"$tree/$DIST/hidden/__init__.py"
	printf '#!/bin/sh\necho a program\n' >"$tree/usr/local/bin/layered"
	chmod 755 "$tree/usr/local/bin/layered"
	echo 'module.exports = "a Node package"' \
		>"$tree/node_modules/layered/index.js"
	for name in usr/sbin/fsd-init lib64/ld-linux-x86-64.so.2 \
		usr/lib/fsd/runners/python/call.py etc/resolv.conf \
		etc/nsswitch.conf etc/ssl/certs/ca-certificates.crt; do
		printf '#!/bin/sh\nexit 9\n' >"$tree/$name"
		chmod 755 "$tree/$name"
	done
	environment_make data "$tree"
}

# A layer in front of that one, which hides one of its files.
make_warm() {
	local tree=$BATS_FILE_TMPDIR/warm
	mkdir -p "$tree/$DIST"/{hidden,child,warmth} "$tree/node_modules"/{warmth,drawn,esm,obeys,needs,draws} \
		"$tree/usr/lib/fsd-environment/cache/fonts"
	echo 'WHO = "the child"' >"$tree/$DIST/hidden/__init__.py"
	echo 'WHO = "its own"' >"$tree/$DIST/child/__init__.py"
	# It counts how often this process imports it, and draws.
	cat >"$tree/$DIST/warmth/__init__.py" <<-'END'
		import os, random, sys, weakref
		pid, mode = os.getpid(), os.environ.get("WARMTH_MODE", "none")
		own = random.Random()
		drawn = own.random()
		class Last:
		    pass
		last = Last()
		weakref.finalize(last, print, "module ended").atexit = False
	END
	cat >"$tree/$DIST/drawn.py" <<-'END'
		class FooGenerator:
		    def seed(self): pass
		live = FooGenerator()
	END
	echo 'exports.born = process.hrtime.bigint(); exports.mode = process.env.LAYERED' \
		>"$tree/node_modules/warmth/index.js"
	echo 'exports.born = 0; exports.id = require("crypto").randomUUID()' \
		>"$tree/node_modules/drawn/index.js"
	echo '{"name": "esm", "type": "module", "exports": {"import": "./index.js"}}' \
		>"$tree/node_modules/esm/package.json"
	cat >"$tree/node_modules/esm/index.js" <<-'END'
		import { env } from 'node:process';
		export const born = process.hrtime.bigint(), mode = env.OBEYED;
	END
	cat >"$tree/node_modules/obeys/index.js" <<-'END'
		exports.born = process.hrtime.bigint();
		exports.mode = process.env.OBEYED;
		exports.flag = process.argv.includes('--flag');
	END
	echo 'exports.born = process.hrtime.bigint(); exports.mode = require("obeys").mode' \
		>"$tree/node_modules/needs/index.js"
	echo '{"name": "draws", "type": "module", "exports": {"import": "./index.js"}}' \
		>"$tree/node_modules/draws/package.json"
	echo 'export const drawn = Math.random()' >"$tree/node_modules/draws/index.js"
	echo cached >"$tree/usr/lib/fsd-environment/cache/fonts/list"
	environment_make warm "$tree" '{
		"python": ["warmth", "drawn", "absent"],
		"node": ["warmth", "drawn", "esm", "obeys", "needs", "draws"],
		"program": "import warmth, random; warmth.ran = random.random()",
		"env": {"LAYERED": "by the recipe"},
		"env_at_start": ["WARMTH_*"]}' data
}

# One that is not what its manifest says.
make_flipped() {
	local tree=$BATS_FILE_TMPDIR/flipped layer
	mkdir -p "$tree/$DIST/flipped"
	echo 'WHO = "never seen"' >"$tree/$DIST/flipped/__init__.py"
	layer=$ENVIRONMENTS/sets/$(environment_make flipped "$tree")/layer.erofs
	printf 'x' | dd of="$layer" bs=1 seek=200 conv=notrunc status=none
}

# Its program kills a runner each time that a machine is heated.
make_fatal() {
	environment_make fatal '' '{"program": "import os, glob\nfor name in glob.glob(\"/proc/[0-9]*/cmdline\"):\n    if b\"wait_ts\" in open(name, \"rb\").read():\n        os.kill(int(name.split(\"/\")[2]), 9)"}'
}

# begun TRUE|FALSE [WHY] — what the result says of the interpreter.
begun() {
	result_is "$J" .environment.warm "$1"
	[ $# = 1 ] || [[ $(result "$J" .environment.why) == *"$2"* ]] ||
		fail "why: $(result "$J" .environment.why)"
}

LOOK='import os, sys
there = "warmth" in sys.modules
import warmth
print(there, hasattr(warmth, "ran"), os.environ["LAYERED"], "drawn" in sys.modules)'

@test "Python: modules of the list are there, and what the warm program did" {
	prog code.py <<<"$LOOK"
	ok 'True True by the recipe False'
	begun true
	result "$J" .machine.template >"$BATS_FILE_TMPDIR/template"
}

@test "the template's maker and the tree tell what is cold, and why" {
	run grep -c 'some modules cold' "$LOG"
	assert_output 1
	run sed 's/: .*//' "$MNT/.fsd/templates/warm/cold"
	assert_output $'drawn\nabsent\nnpm:drawn\nnpm:draws'
}

@test "the caches of the layer lie where the job may write" {
	prog code.sh <<<'cat /var/cache/user/fonts/list; cd /var/cache/user/fonts && echo more >>list && stat -c %U list; echo "$LAYERED"'
	ok $'cached\nuser\nby the recipe'
}

@test "twenty clones draw different numbers" {
	local i all=()
	for i in $(seq 20); do
		J=t$BATS_TEST_NUMBER.c$i
		mkdir "$MNT/$J"
		cat >"$MNT/$J/code.py" <<-'END'
			import random, ssl, warmth
			print(warmth.own.random(), random.random(), ssl.RAND_bytes(8).hex(), sep="\n")
		END
		job_put "$J" config.json '{}'
		all+=("$J")
	done
	for J in "${all[@]}"; do
		job_wait "$J" $JOB_SECONDS >/dev/null
		ok
		begun true
	done
	run bash -c "cat $MNT/t$BATS_TEST_NUMBER.c*/stdout | sort | uniq -d"
	assert_output ''
	assert_equal "$(cat "$MNT"/t"$BATS_TEST_NUMBER".c*/stdout | wc -l)" 60
}

@test "a fresh interpreter runs what could see the warmth, and the result says why" {
	prog code.py '{"env": {"WARMTH_MODE": "own"}}' <<<"$LOOK; print(warmth.mode)"
	ok $'False False by the recipe False\nown'
	begun false WARMTH_MODE
	prog code.py '{"warm": false}' <<<"$LOOK"
	ok 'False False by the recipe False'
	begun false
	job_made code.py <<<'import warmth; print(warmth.__file__)'
	echo >"$MNT/$J/warmth.py"
	go
	ok /home/user/warmth.py
	begun false warmth.py
	# A variable that none of them obeys is none of these.
	prog code.py '{"env": {"OTHER": "1"}}' <<<"$LOOK"
	ok 'True True by the recipe False'
	begun true
}

@test "Python: a module that waits obeys a variable that the program sets before the import" {
	prog code.py <<-'END'
		import os
		os.environ["WARMTH_MODE"] = "late"
		import warmth
		print(warmth.mode, warmth.pid == os.getpid())
	END
	ok 'late True'
	begun true
}

@test "a module that was left alone is not taken apart at the end, one that was changed is" {
	prog code.py <<<'import warmth; print("end")'
	ok end
	prog code.py <<<'import warmth; warmth.more = 1; warmth.last = None; print("end")'
	ok $'module ended\nend'
}

@test "Node: packages of the list are there, but for one that draws numbers" {
	prog code.mjs <<-'END'
		const begun = process.hrtime.bigint();
		const { default: warmth } = await import('warmth');
		const { born } = await import('esm');
		const { default: drawn } = await import('drawn');
		console.log(warmth.born < begun, born < begun, warmth.mode, drawn.id.length);
	END
	ok 'true true by the recipe 36'
	job_made code.js <<<'console.log(require("warmth").mine, require.resolve("warmth"))'
	mkdir -p "$MNT/$J/node_modules/warmth"
	echo 'exports.mine = 1' >"$MNT/$J/node_modules/warmth/index.js"
	go
	ok '1 /home/user/node_modules/warmth/index.js'
}

# These packages wait, unless what they have read has changed.
@test "Node: a package that waits obeys a variable of the job or the program, and arguments" {
	cat >"$BATS_TEST_TMPDIR/look" <<-'END'
		const begun = process.hrtime.bigint();
		if (process.argv[2] === 'late')
			process.env.OBEYED = 'late';
		const all = ['warmth', 'obeys', 'needs', 'esm'];
		Promise.all(all.map((name) => import(name))).then((them) => {
			them = them.map((space) => space.default ?? space);
			console.log(...them.map(({ born }) => born < begun),
				    ...them.slice(1).map(({ mode }) => mode), them[1].flag);
			return import('draws');
		}).then(({ drawn }) => console.log(drawn > 0));
	END
	local env args want
	while IFS='|' read -r env args want; do
		prog code.js "{\"env\": {$env}, \"args\": [$args]}" <"$BATS_TEST_TMPDIR/look"
		ok "$want"$'\ntrue'
	done <<-'END'
		||true true true true undefined undefined undefined false
		"OTHER": "1"||true true true true undefined undefined undefined false
		"OBEYED": "1"||true false false false 1 1 1 false
		|"late"|true false false false late late late false
		"TZ": "Asia/Tokyo"||false false false false undefined undefined undefined false
		|"--flag"|true false false true undefined undefined undefined true
	END
	prog code.ts '{"env": {"OBEYED": "1"}}' <"$BATS_TEST_TMPDIR/look"
	ok $'true false false false 1 1 1 false\ntrue'
	prog code.js '{"session": "v", "env": {"OBEYED": "1"}}' <"$BATS_TEST_TMPDIR/look"
	ok $'true false false false 1 1 1 false\ntrue'
}

@test "a session begins warm, and a later step's file is found first" {
	prog code.py '{"session": "s"}' <<<"$LOOK"
	ok 'True True by the recipe False'
	begun true
	job_made code.py <<<'import warmth; print(warmth.__file__)'
	echo >"$MNT/$J/warmth.py"
	go '{"session": "s"}'
	ok /home/user/warmth.py
	rmdir "$MNT/.fsd/sessions/s"
	prog code.js '{"session": "n"}' <<-'END'
		const begun = process.hrtime.bigint();
		console.log(require('warmth').born < begun, process.env.LAYERED);
	END
	ok 'true by the recipe'
	begun true
	rmdir "$MNT/.fsd/sessions/n"
}

@test "what is cold is told after a restart too, once its template is in use again" {
	local before
	before=$(cat "$MNT/.fsd/templates/warm/cold")
	own_mount
	mount_start
	prog code.py <<<'print("up")'
	ok up
	assert_equal "$(cat "$MNT/.fsd/templates/warm/cold")" "$before"
	assert_equal "$(figure fsd_templates_made_total)" 0
	mount_stop
}

@test "environment: a job has the packages and programs of its layers" {
	prog code.sh '{}' <<-'END'
		layered
		python3 -c 'import layered; print(layered.WHO)'
		node -e 'console.log(require("layered"))'
		echo "$LAYERED"
	END
	ok 'a program
a Python package
a Node package
by the recipe'
	result_is "$J" .environment.name warm
	result_is "$J" '.environment.id == "'"$(basename "$(readlink \
		"$ENVIRONMENTS/names/warm")")"'"' true
	prog code.py '{}' <<-'END'
		import layered, os
		print(layered.WHO, os.environ["LAYERED"])
	END
	ok 'a Python package by the recipe'
	prog code.mjs '{"env": {"LAYERED": "by the job"}}' <<-'END'
		import who from 'layered';
		console.log(who, process.env.LAYERED);
	END
	ok 'a Node package by the job'
}

@test "environment: a layer replaces no file of the image" {
	prog code.sh '{}' <<-'END'
		for name in /usr/sbin/fsd-init /lib64/ld-linux-x86-64.so.2 \
			/usr/lib/fsd/runners/python/call.py /etc/resolv.conf \
			/etc/nsswitch.conf /etc/ssl/certs/ca-certificates.crt; do
			head -c 40 "$name" | grep -q 'exit 9' && echo "$name"
		done
		touch /usr/local/bin/mine 2>&1 | sed 's/.*: //'
	END
	ok 'Permission denied'
	prog code.py '{"mode": "call", "input": 2}' <<-'END'
		def main(n):
		    return n + 1
	END
	ok
	result_is "$J" .value 3
}

@test "environment: a job of base has nothing of it" {
	prog code.py '{"environment": "base"}' <<<'import layered'
	ended "$J" 1 exited
	result_is "$J" .environment.name base
	result_is "$J" .environment.id null
}

@test "environment: a child's layer lies before its parent's" {
	prog code.py '{}' <<-'END'
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

# The last one: the boots that follow end with the mount.
@test "a template is not kept that has lost a runner" {
	job_made code.ts <<<'console.log(1)'
	job_put "$J" config.json '{"environment": "fatal"}'
	await becomes 120 grep -qF \
		'the guest did not boot (1 of 5): not all of its runners have answered' "$LOG"
	echo kill >"$MNT/$J/ctl"
	job_wait "$J" $JOB_SECONDS >/dev/null
	ended "$J" 137 cancelled
}
