#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Node that runs one step after another, on the host.

bats_require_minimum_version 1.5.0
load ../lib/session

# bats test_tags=smoke
@test "JavaScript: const, let, var, functions and classes stay" {
	session node <<-'END'
		### session
		const a = 1; let b = 2; var c = 3;
		function f() { return a + b + c; }
		class K { four() { return 4; } }
		const { d, e: [g] } = { d: 5, e: [6] };
		### session
		console.log(f(), new K().four(), d, g);
	END
	output_is 'exit: 0' 'out: 6 4 5 6' 'exit: 0'
}

@test "JavaScript: everything may be declared again, as anything" {
	session node <<-'END'
		### session
		const a = 1; let b = 1; class c {} function d() {} var e = 1;
		### session
		class a {} const b = 2; let c; var d = 2; function e() { return 2; }
		console.log(typeof a, b, c, d, e());
		### session
		let a = 3; function b() {} const e = 3, d = 3;
		console.log(a, typeof b, d, e);
	END
	output_is 'exit: 0' 'out: function 2 undefined 2 2' 'exit: 0' \
		'out: 3 function 3 3' 'exit: 0'
}

@test "JavaScript: a constant may have the name of a global of Node" {
	session node <<-'END'
		### session
		const crypto = require('crypto');
		const performance = require('perf_hooks').performance;
		const fetch = 5;
		console.log(typeof crypto.createHash, typeof performance.now, fetch);
	END
	output_is 'out: function function 5' 'exit: 0'
}

# As in a machine, with what is compiled.
native_session() {
	[ -e build/guest/native.node ] || skip 'build/guest/native.node is not built'
	cp -R guest/runners "$BATS_TEST_TMPDIR/runners"
	cp build/guest/native.node "$BATS_TEST_TMPDIR/runners/node/"
	session node "$BATS_TEST_TMPDIR/runners"
}

@test "JavaScript: an interrupt ends the step with 130 wherever it is, and all stays" {
	native_session <<-'END'
		### session int=go
		let x = 1; console.log('go'); for (;;);
		### session int=go
		console.log('go'); try { for (;;); } finally { console.log('no'); }
		### session int=go
		setTimeout(() => { console.log('go'); for (;;); }, 1);
		setTimeout(() => console.log('no'), 20);
		### session int=go
		setInterval(() => { console.log('go'); for (;;); }, 1);
		### session int=go
		setImmediate(() => { console.log('go'); for (;;); });
		### session int=go
		process.nextTick(() => { console.log('go'); for (;;); });
		### session int=go
		require('fs').readFile(__filename, () => { console.log('go'); for (;;); });
		### session int=go
		new Promise((r) => setTimeout(r, 5)).then(() => { console.log('go'); for (;;); });
		### cell int=go
		await null; console.log('go'); for (;;);
		### session int=go
		console.log('go'); const f = () => Promise.resolve().then(f); f();
		### session int=go
		console.log('go'); setTimeout(() => {}, 1e8);
		### cell int=go
		console.log('go'); await new Promise(() => setInterval(() => {}, 1000));
		### session
		setTimeout(() => console.log('x is', x), 5);
	END
	assert_equal "$(grep -cx 'exit: 130' <<<"$output")" 12
	assert_equal "$(grep -c '^err: Error: Script execution was interrupted' <<<"$output")" 10
	assert_equal "$(grep -c '"error":{"name":"Error"\|"error": {"name": "Error"' <<<"$output")" 12
	refute_line 'out: no'
	assert_equal "$(tail -n 3 <<<"$output")" $'out: x is 1\nexit: 0\nended'
}

@test "JavaScript: an interrupt ends what waits for a child, and goes to who listens" {
	native_session <<-'END'
		### session
		const { spawn, execSync } = require('child_process');
		const soon = () => spawn('sh', ['-c', 'sleep 0.2; echo go'], { stdio: 'inherit' });
		### session int=go
		soon(); execSync('sleep 1000');
		### session int=go
		soon(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
		### session int=go
		const t = setTimeout(() => {}, 1e7);
		process.once('SIGINT', () => { console.log('own'); clearTimeout(t); });
		console.log('go');
		### session int=go
		console.log('go'); for (;;);
	END
	assert_equal "$(grep -cx 'exit: 130' <<<"$output")" 3
	assert_line 'out: own'
	assert_line 'err: Error: Command failed: sleep 1000'
}

# The interrupt goes to the child as well, and its end may be seen first.
@test "JavaScript: a step that fails by a child's SIGINT ends with 130, by another signal with 1" {
	native_session <<-'END'
		### session
		require('child_process').execSync('kill -INT $$', { stdio: 'ignore' });
		### session
		require('child_process').execSync('kill -TERM $$', { stdio: 'ignore' });
		### session
		console.log('alive');
	END
	assert_equal "$(grep '^exit:' <<<"$output")" $'exit: 130\nexit: 1\nexit: 0'
	assert_line 'out: alive'
}

@test "JavaScript: a cell ends when its code has, and its server and timers live on" {
	session node <<-'END'
		### cell
		const http = require('http');
		const server = http.createServer((ask, reply) => reply.end('pong'));
		await new Promise((up) => server.listen(0, up));
		let ticks = 0;
		const clock = setInterval(() => ticks++, 20);
		const later = new Promise((done) => setTimeout(done, 300, 'settled'));
		const { Worker } = require('worker_threads');
		const worker = new Worker('setInterval(() => {}, 1e6)', { eval: true });
		const child = require('child_process').spawn('sleep', ['1000']);
		'started'
		### cell pause=0.3
		const { port } = server.address(), early = ticks > 2;
		[await (await fetch('http://127.0.0.1:' + port)).text(), early]
		### session
		console.log('a script beside it ends', ticks > 0);
		### cell
		await later
		### cell
		clearInterval(clock);
		server.close();
		child.kill();
		await worker.terminate();
		### session
		console.log('a script without it ends');
	END
	assert_line --partial "\"text\": \"'started'\""
	assert_line --partial "\"text\": \"[ 'pong', true ]\""
	assert_line 'out: a script beside it ends true'
	assert_line --partial "\"text\": \"'settled'\""
	assert_line 'out: a script without it ends'
	assert_equal "$(grep -cx 'exit: 0' <<<"$output")" 6
}

@test "JavaScript: what is due when a cell's code ends is its own, later output another's" {
	session node <<-'END'
		### cell
		setTimeout(() => console.log('at once'), 0);
		setImmediate(() => console.log('immediate'));
		process.nextTick(() => console.log('tick'));
		Promise.resolve().then(() => console.log('promise'));
		setTimeout(() => console.log('for nobody'), 700);
		let told;
		setInterval(() => { if (told) { console.log('later'); told(); told = null; } }, 5);
		console.log('code');
		0
		### cell pause=1.5
		await new Promise((done) => { told = done; }); 1
	END
	assert_output --regexp $'^out: code
out: tick
out: promise
out: at once
out: immediate
result: [^
]*
exit: 0
out: later
result: [^
]*
exit: 0
ended$'
}

@test "JavaScript: an error of what an earlier cell has left fails no cell, and ends nothing" {
	session node <<-'END'
		### cell
		let bad;
		setTimeout(() => {
			bad = setInterval(() => { throw new Error('of a timer') }, 20);
			setTimeout(() => Promise.reject(new Error('for nobody')), 10);
			process.exit(9);
		}, 700);
		1
		### cell pause=1.5
		await new Promise((done) => setTimeout(done, 100)); 2
		### cell
		setInterval(() => {}, 1000000); throw new RangeError('its own');
		### cell
		Promise.reject(new TypeError('its own, too')); 4
		### cell
		clearInterval(bad); process.exit(5)
		### cell
		await new Promise((done) => setTimeout(done, 40)); 6
	END
	assert_line 'err: Error: of a timer'
	refute_line --partial 'for nobody'
	assert_equal "$(grep '^exit' <<<"$output")" \
		$'exit: 0\nexit: 0\nexit: 1\nexit: 1\nexit: 5\nexit: 0'
	assert_line --partial '"name": "RangeError", "value": "its own"'
	assert_line --partial '"name": "TypeError", "value": "its own, too"'
	assert_equal "$(grep -c '"text": "[126]"' <<<"$output")" 3
}

@test "JavaScript: an interrupt stops what a cell waits for in a loop, and leaves its server" {
	native_session <<-'END'
		### cell
		const net = require('net');
		const server = net.createServer((s) => s.end('served')).listen('here');
		1
		### cell int=go
		const { setTimeout: sleep } = require('timers/promises');
		for (;;) { console.log('go'); await sleep(10); }
		### cell int=go
		for (;;) { console.log('go'); await new Promise((r) => setTimeout(r, 10)); }
		### cell
		await new Promise((done) => net.connect('here').on('data', (data) =>
			setTimeout(done, 100, String(data))))
	END
	assert_equal "$(grep -cx 'exit: 130' <<<"$output")" 2
	assert_equal "$(grep -v '^err' <<<"$output" | tail -n 3)" "$(printf '%s\n' \
		'result: {"text": "'"'served'"'", "results": [{"mime": "text/plain", "data": "'"'served'"'", "bundle": 1, "main": true}]}' \
		'exit: 0' ended)"
}

@test "JavaScript: a step's variables are put back after it, whatever it made of them" {
	session node <<-'END'
		### session env=NEW=1,HOME=/h
		console.log(process.env.NEW, process.env.HOME);
		process.env.NEW = '2'; process.env.KEPT = '3'; delete process.env.HOME;
		### session env=KEPT=4
		console.log(process.env.NEW, process.env.HOME, process.env.KEPT);
		throw 1;
		### session
		console.log(process.env.KEPT);
	END
	assert_line --index 0 'out: 1 /h'
	assert_line 'out: undefined / 4'
	assert_line 'out: 3'
}

@test "JavaScript: a step finds what a CommonJS program finds" {
	session node <<-'END'
		### session args=a,b env=A=1
		console.log(require.main === module, __filename, __dirname);
		console.log(process.argv.slice(1), process.env.A);
		console.log(exports === module.exports, typeof require.resolve);
		### session file=other.js
		console.log(__filename, process.argv.length);
	END
	output_is 'out: true HOME/step.js HOME' \
		"out: [ 'HOME/step.js', 'a', 'b' ] 1" 'out: true function' \
		'exit: 0' 'out: HOME/other.js 2' 'exit: 0'
}

@test "JavaScript: require() finds files beside the step and keeps them" {
	session node <<-'END'
		### session
		require('fs').writeFileSync('lib.js', 'exports.n = 1;');
		require('./lib').n++;
		### session
		console.log(require('./lib.js').n);
	END
	output_is 'exit: 0' 'out: 2' 'exit: 0'
}

@test "JavaScript: import() finds modules beside the step" {
	session node <<-'END'
		### session
		require('fs').writeFileSync('lib.mjs', 'export const n = 4;');
		const load = () => import('./lib.mjs');
		### session
		load().then((lib) => console.log(lib.n));
		import('os').then((os) => console.log(typeof os.cpus));
		import('./no.mjs').catch((e) => console.log(e.code));
	END
	assert_line 'out: 4'
	assert_line 'out: function'
	assert_line 'out: ERR_MODULE_NOT_FOUND'
	refute_line --regexp '^err'
}

@test "JavaScript: a step ends when its timers and promises are done" {
	session node <<-'END'
		### session
		require('fs').promises.readFile(__filename).then(() => {
			console.log('read');
			setTimeout(() => console.log('timer'), 1);
		});
		process.nextTick(() => console.log('tick'));
		Promise.resolve().then(() => console.log('promise'));
		console.log('code');
		### session
		console.log('next');
	END
	output_is 'out: code' 'out: tick' 'out: promise' 'out: read' \
		'out: timer' 'exit: 0' 'out: next' 'exit: 0'
}

@test "JavaScript: await works outside functions, and what it declares stays" {
	session node <<-'END'
		### session
		console.log(early());
		const a = await Promise.resolve(1);
		let [b, c] = [await 2, 3];
		function early() { return 'early'; }
		for (var i = 0; i < 2; i++) await null;
		if (a) var d = 4
		class K {}
		### session
		console.log(a, b, c, d, i, typeof K, early());
	END
	output_is 'out: early' 'exit: 0' 'out: 1 2 3 4 2 function early' 'exit: 0'
}

@test "JavaScript: an await that is never settled ends the step with 13" {
	session node <<-'END'
		### session
		await new Promise(() => {});
		### session
		console.log('on');
	END
	output_is 'err: Warning: Detected unsettled top-level await' 'exit: 13' \
		'out: on' 'exit: 0'
}

@test "JavaScript: a return outside functions ends the step" {
	session node <<-'END'
		### session
		const a = 1;
		if (a) return;
		console.log('not');
		### session
		console.log(a);
	END
	output_is 'exit: 0' 'out: 1' 'exit: 0'
}

@test "JavaScript: an uncaught error is printed as Node does, and all stays" {
	session node <<-'END'
		### session
		const a = 1;
		function f() {
			throw new TypeError('wrong');
		}
		f();
		### session
		console.log(a);
	END
	assert_line --index 0 'err: HOME/step.js:3'
	assert_line --index 1 "err: throw new TypeError('wrong');"
	assert_line --index 2 'err: ^'
	assert_line --index 4 'err: TypeError: wrong'
	assert_line --index 5 --regexp '^err:     at f \(HOME/step.js:3:[0-9]+\)$'
	assert_line --index 6 'err:     at HOME/step.js:5:1'
	assert_line --regexp '^err: Node.js v'
	assert_line --partial '"error": {"name": "TypeError", "value": "wrong"'
	assert_line 'exit: 1'
	assert_line 'out: 1'
	refute_line --partial 'session.js'
}

@test "JavaScript: an unhandled rejection is an error" {
	session node <<-'END'
		### session
		Promise.reject(new RangeError('far'));
		### session
		Promise.reject(5);
		### session
		await Promise.reject(new Error('awaited'));
		### session
		console.log('on');
	END
	assert_line 'err: RangeError: far'
	assert_line --partial '"name": "RangeError", "value": "far"'
	assert_line --partial 'ERR_UNHANDLED_REJECTION'
	assert_line 'err: Error: awaited'
	assert_line 'out: on'
}

@test "JavaScript: an error in a timer ends the step, and other timers with it" {
	session node <<-'END'
		### session
		setInterval(() => {}, 1000000);
		setTimeout(() => { throw new Error('late'); }, 1);
		### session
		console.log('on');
	END
	assert_line 'err: Error: late'
	assert_line 'exit: 1'
	assert_line 'out: on'
}

@test "JavaScript: what is thrown need be no Error" {
	session node <<-'END'
		### session
		throw { my: 'value' };
		### session
		throw undefined;
	END
	assert_line "err: { my: 'value' }"
	assert_line --partial '"error": {"name": "object"'
	assert_line --partial '"error": {"name": "undefined"'
}

@test "JavaScript: wrong syntax shows its line, and all stays" {
	session node <<-'END'
		### session
		const a = 1;
		### session
		let b = ;
		### session
		console.log(a);
	END
	assert_line 'err: HOME/step.js (step 2):1'
	assert_line 'err: let b = ;'
	assert_line "err: SyntaxError: Unexpected token ';'"
	assert_line 'exit: 1'
	assert_line 'out: 1'
}

@test "JavaScript: process.exit() ends the step and keeps the session" {
	session node <<-'END'
		### session
		const a = 1;
		setTimeout(() => console.log('never'), 1000000);
		setInterval(() => console.log('never'), 0);
		process.on('exit', () => console.log('never'));
		(function f() { process.exit(4); })();
		### session
		console.log(a);
		setTimeout(() => process.exit(5), 1);
		### session
		await null;
		process.exit();
		console.log('never');
		### session
		try { process.exit(6); } catch {}
	END
	output_is 'exit: 4' 'out: 1' 'exit: 5' 'exit: 0' 'exit: 6'
}

@test "JavaScript: process.exitCode counts for its step only" {
	session node <<-'END'
		### session
		process.exitCode = 6;
		### session
		process.exitCode = 7; process.exit();
		### session
	END
	output_is 'exit: 6' 'exit: 7' 'exit: 0'
}

@test "JavaScript: a server that a step leaves open holds up no other" {
	session node <<-'END'
		### session
		const net = require('net');
		const server = net.createServer((s) => s.end('served'));
		server.listen('socket', () => process.exit());
		### session
		net.connect('socket').on('data', (d) => console.log(String(d)));
		### session
		console.log(server.listening);
	END
	output_is 'exit: 0' 'out: served' 'exit: 0' 'out: true' 'exit: 0'
}

@test "JavaScript: stdin is the step's, by stream and by file" {
	session node <<-'END'
		### session stdin=one\n
		process.stdin.on('data', (d) => console.log(String(d).trim()));
		### session stdin=two
		console.log(require('fs').readFileSync(0, 'utf8'));
		### session stdin=a\nb\n
		const lines = require('readline').createInterface({
			input: process.stdin });
		for await (const line of lines) console.log(line);
		### session open stdin=c\n
		process.stdin.once('data', (d) => {
			console.log(String(d).trim());
			process.stdin.destroy();
		});
	END
	output_is 'out: one' 'exit: 0' 'out: two' 'exit: 0' 'out: a' 'out: b' \
		'exit: 0' 'out: c' 'exit: 0'
}

@test "JavaScript: stdout and stderr are the step's, also when kept" {
	session node <<-'END'
		### session
		const { stdout } = process, { log } = console;
		stdout.write('first\n');
		### session
		log('second'); console.error('third');
		process.stdout.write('fourth\n');
	END
	output_is 'out: first' 'exit: 0' 'out: second' 'out: fourth' \
		'err: third' 'exit: 0'
}

@test "JavaScript: a large output is whole, also before process.exit()" {
	session node <<-'END'
		### session
		process.stdout.write('x'.repeat(300000) + '\n');
		process.exit();
	END
	[ ${#lines[0]} = 300005 ] || fail "${#lines[0]} bytes"
}

@test "JavaScript: children have the step's streams and nothing else" {
	session node <<-'END'
		### session
		require('child_process').spawn('sh',
			['-c', 'for f in /proc/self/fd/*; do echo ${f##*/}; done'],
			{ stdio: 'inherit' });
	END
	output_is 'out: 0' 'out: 1' 'out: 2' 'out: 3' 'exit: 0'
}

@test "JavaScript: a program that spoils fs and process spoils its own" {
	session node <<-'END'
		### session
		const fs = require('fs');
		fs.writeSync = fs.openSync = fs.closeSync = null;
		process.reallyExit = null;
		JSON.stringify = null;
		### cell
		1
	END
	assert_line --partial '"text": "1"'
}

@test "JavaScript: a cell's completion value is its result" {
	session node <<-'END'
		### cell
		const a = new Map([[1, 2]]);
		a
		### cell
		undefined
		### cell
		if (a) { 'text' }
		### cell
		await Promise.resolve(7)
		### session
		a
	END
	output_is 'result: {"text": "Map(1) { 1 => 2 }", "results": [{"mime": "text/plain", "data": "Map(1) { 1 => 2 }", "bundle": 1, "main": true}]}' \
		'exit: 0' 'exit: 0' \
		"result: {\"text\": \"'text'\", \"results\": [{\"mime\": \"text/plain\", \"data\": \"'text'\", \"bundle\": 1, \"main\": true}]}" \
		'exit: 0' \
		'result: {"text": "7", "results": [{"mime": "text/plain", "data": "7", "bundle": 1, "main": true}]}' \
		'exit: 0' 'exit: 0'
}

@test "JavaScript: plain objects and arrays are results as JSON too" {
	session node <<-'END'
		### cell
		({ a: [1, null, 'x'] })
		### cell
		{ b: 1 }
		### cell
		[1.5, NaN, { most: -Infinity }]
		### cell
		const loop = {}; loop.loop = loop
		### cell
		[new Date(0)]
	END
	assert_line --partial '{"mime": "application/json", "data": {"a": [1, null, "x"]}, "bundle": 1, "main": true}'
	assert_line --partial '{"mime": "application/json", "data": {"b": 1}, "bundle": 1, "main": true}'
	[ "$(grep -c application/json <<<"$output")" = 3 ] || fail "$output"
	assert_line --partial '"data": [1.5, null, {"most": null}]'
	assert_line --partial '"text": "[ 1.5, NaN, { most: -Infinity } ]"'
}

@test "JavaScript: what beforeExit does is its step's, and is awaited" {
	session node <<-'END'
		### session
		process.on('beforeExit', () => {
			console.log('bye');
			setTimeout(() => console.log('late'), 1);
		});
		### session
		process.removeAllListeners();
		console.log('two');
		### session
		console.log('three');
	END
	output_is 'out: bye' 'out: late' 'exit: 0' 'out: two' 'exit: 0' \
		'out: three' 'exit: 0'
}

@test "JavaScript: what goes on after process.exit() reaches no other step" {
	session node <<-'END'
		### session
		try { process.exit(1); } catch {}
		setTimeout(() => console.log('late'), 100);
		setInterval(() => console.log('later'), 100);
		### session
		setTimeout(() => console.log('two'), 250);
	END
	output_is 'exit: 1' 'out: two' 'exit: 0'
}

@test "JavaScript: an error that cannot be shown is one nevertheless" {
	session node <<-'END'
		### session
		throw Object.create(null);
		### session
		throw { get stack() { throw 1; } };
		### session
		throw Object.defineProperty(new Error('m'), 'message', {
			get() { throw 3; } });
		### session
		throw Symbol('s');
	END
	assert_line 'err: [Object: null prototype] {}'
	assert_line 'err: <unprintable>'
	[ "$(grep -c '^result: {"error": {"name": ' <<<"$output")" = 4 ] ||
		fail "$output"
	assert_line --partial '"name": "Error", "value": "<unprintable>"'
	assert_line --partial '"value": "Symbol(s)"'
}

@test "JavaScript: a value is looked at without an end or a call" {
	session node <<-'END'
		### cell
		({ get a() { throw new Error('called'); } })
		### cell
		let deep = []; for (let i = 0; i < 20000; i++) deep = [deep]; deep
		### cell
		let wide = []; for (let i = 0; i < 40; i++) wide = [wide, wide]; wide
		### cell
		new Proxy({}, { ownKeys() { throw new Error('called'); } })
	END
	assert_line --partial '"text": "{ a: [Getter] }"'
	assert_line --partial '"text": "[ [ [ [Array] ] ] ]"'
	refute_line --partial 'application/json'
	refute_line --regexp '^err'
}

@test "JavaScript: what is put into every object does not hold up the session" {
	session node <<-'END'
		### session
		Object.prototype.value = 1; Object.prototype.get = 2;
		### session
		delete Object.prototype.value; delete Object.prototype.get;
		console.log('on');
	END
	output_is 'exit: 0' 'out: on' 'exit: 0'
}

@test "JavaScript: a session that cannot take another step ends" {
	run -0 bounded 60 /usr/bin/python3 tests/lib/session_test.py node \
		guest/runners <<-'END'
		### session
		Object.defineProperty(globalThis, 'module', { value: 1,
			configurable: false, writable: false });
		### session
		console.log('not');
	END
	assert_output $'exit: 0\ndied: 1'
}

@test "JavaScript: a failure in a function of an earlier step shows that step's line" {
	session node <<-'END'
		### session
		function ratio(a) {
		  // no number
		  return a.b.c;
		}
		### session
		const name = 'another line';
		const unrelated = 3;
		ratio({});
	END
	assert_line --index 1 'err: HOME/step.js:3'
	assert_line --index 2 'err:   return a.b.c;'
	assert_line 'err:     at ratio (HOME/step.js:3:14)'
	assert_line 'err:     at HOME/step.js (step 2):3:1'
	refute_output --partial unrelated
}

@test "JavaScript: what a step sees of its runner has names as Node's own" {
	session node <<-'END'
		### session
		console.log(Object.keys(require.cache).length, process.execArgv);
		console.log(new Error('here').stack);
	END
	assert_line 'out: 0 []'
	assert_line 'out:     at HOME/step.js:2:13'
	refute_output --partial runners
}

@test "JavaScript: a promise that is a cell's last value is awaited" {
	session node <<-'END'
		### cell
		const later = new Promise((done) => setTimeout(() => done(7), 5));
		later
		### cell
		new Promise(() => {})
		### cell
		Promise.reject(new RangeError('far'))
		### session
		later
	END
	assert_line --index 0 --partial '"text": "7"'
	assert_line --index 2 --partial '"text": "Promise { <pending> }"'
	assert_line --index 3 'exit: 0'
	assert_line --partial '"name": "RangeError", "value": "far"'
	refute_output --partial 'err:'
	assert_line 'exit: 1'
	assert_line --index -2 'exit: 0'
}

@test "JavaScript: import and require stand in one cell, and stay" {
	session node <<-'END'
		### cell
		import fs, { statSync as stat } from 'fs';
		import * as path from 'node:path';
		import 'os';
		const { sep } = require('path');
		module.exports.x = 5;
		export const y = 7;
		export default function named() { return 8; }
		export { y as z };
		[fs.statSync === stat, path.sep, sep, module.exports.x, y, import.meta.filename]
		### cell
		export default y + named() + path.sep.length
		### cell
		import { absent } from 'fs';
		### cell
		import absent from './absent.mjs';
		### cell
		console.log('first');
		import { sep as late } from 'path';
		late
	END
	assert_line --partial '"data": [true, "/", "/", 5, 7, "HOME/step.js"], "bundle"'
	assert_line --partial '"text": "16"'
	assert_line --partial "'fs' does not provide an export named 'absent'"
	assert_line --partial "Cannot find module 'HOME/absent.mjs' imported from HOME/step.js"
	assert_line 'out: first'
	assert_line --partial "\"text\": \"'/'\""
}

@test "JavaScript: what Node warns of is not a cell's output" {
	session node <<-'END'
		### cell
		new Buffer(5);
		process.emitWarning('mine');
		1
		### session
		require('url').parse('http://a:x/');
	END
	assert_line --regexp '^err: \(node:[0-9]+\) Warning: mine$'
	assert_line --regexp '^err: \(node:[0-9]+\) \[DEP0170\] DeprecationWarning: '
	refute_line --partial 'Buffer()'
}

@test "JavaScript: a cell's error is in its result alone, with its cause" {
	session node <<-'END'
		### cell
		throw new Error('outer', { cause: new Error('inner') })
		### cell
		let a = ;
		### cell
		throw 5
		### cell
		console.error('mine'); null.x
	END
	assert_equal "$(grep -c '"error": {"name": ' <<<"$output")" 4
	assert_equal "$(grep '^err:' <<<"$output")" 'err: mine'
	assert_line --index 0 --regexp '"traceback": "Error: outer\\n    at HOME/step.js:1:7 .*\[cause\]: Error: inner'
	assert_line --partial '"name": "SyntaxError"'
	assert_line --partial '"name": "number"'
}
