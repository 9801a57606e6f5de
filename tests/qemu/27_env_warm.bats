#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An environment's modules are warm: they are there before the program, nothing that
# they have drawn is shared, and a program that could see them begins afresh. One
# environment, made by hand.

load ../lib/qemu
load ../lib/environment

setup_file() {
	export ENVIRONMENTS=$BATS_FILE_TMPDIR/environments
	make_warm
	make_fatal
	# With the default one no template of base is needed.
	file_setup --environments "$ENVIRONMENTS" --default-environment warm \
		--fork no --pool 0
}
teardown_file() { file_teardown; }
teardown() { jobs_done; }

DIST=usr/local/lib/python3.13/dist-packages

make_warm() {
	local tree=$BATS_FILE_TMPDIR/warm
	mkdir -p "$tree/$DIST/warmth" "$tree/node_modules"/{warmth,drawn,esm} \
		"$tree/usr/lib/fsd-environment/cache/fonts"
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
	echo 'export const born = process.hrtime.bigint()' \
		>"$tree/node_modules/esm/index.js"
	echo cached >"$tree/usr/lib/fsd-environment/cache/fonts/list"
	environment_make warm "$tree" '{
		"python": ["warmth", "drawn", "absent"],
		"node": ["warmth", "drawn", "esm"],
		"program": "import warmth, random; warmth.ran = random.random()",
		"env": {"LAYERED": "by the recipe"},
		"env_at_start": ["WARMTH_*"]}'
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
}

@test "the template's maker and the tree tell what is cold, and why" {
	run grep -c 'some modules cold' "$LOG"
	assert_output 1
	run sed 's/: .*//' "$MNT/.fsd/templates/warm/cold"
	assert_output $'drawn\nabsent\nnpm:drawn'
}

@test "the caches of the layer lie where the job may write" {
	prog code.sh <<<'cat /var/cache/user/fonts/list; cd /var/cache/user/fonts && echo more >>list && stat -c %U list; echo "$LAYERED"'
	ok $'cached\nuser\nby the recipe'
}

@test "twenty clones draw different numbers" {
	local i all=()
	for i in $(seq 20); do
		J=c$i
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
	run bash -c "cat $MNT/c*/stdout | sort | uniq -d"
	assert_output ''
	assert_equal "$(cat "$MNT"/c*/stdout | wc -l)" 60
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
