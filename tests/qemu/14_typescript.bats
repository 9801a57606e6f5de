#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# TypeScript and the modules that it imports: each as Node's own resolver finds it.

load ../lib/qemu

setup_file() { file_setup --shared; }
teardown_file() { file_teardown; }
teardown() { jobs_done; }

# files — a draft $J with the files of standard input: lines "--- PATH" part them.
files() {
	local line to=/dev/null
	N=$((${N:-0} + 1))
	J=t$BATS_TEST_NUMBER.$N
	mkdir "$MNT/$J"
	while IFS= read -r line; do
		if [[ $line == "--- "* ]]; then
			[ "$to" = /dev/null ] || exec 5>&-
			to=$MNT/$J/${line#--- }
			mkdir -p "${to%/*}"
			exec 5>"$to"
		else
			printf '%s\n' "$line" >&5
		fi
	done
	exec 5>&-
}

# bats test_tags=smoke
@test "TypeScript: what a module exports is seen as it is now, whatever module that is" {
	files <<-'END'
		--- code.mts
		import { n, up } from './esm.mjs';
		import { m, upM } from './typed';
		up(); up(); upM();
		console.log(n, m);
		--- esm.mjs
		export let n = 0; export const up = () => { n++; };
		--- typed.ts
		export let m: number = 0; export const upM = (): void => { m++; };
	END
	go
	ok '2 1'
	files <<-'END'
		--- code.ts
		import { n, up } from './common';
		import { m, upM } from './esm.mjs';
		import * as t from './typed';
		async function late() {
		  const again = await import('./typed.js');
		  again.upT();
		  console.log(n, m, t.t, again.t, again.default, again === await import('./typed'));
		}
		up(); upM(); t.upT(); late();
		--- common.cjs
		exports.n = 0; exports.up = () => { exports.n++; };
		--- common.js
		module.exports = require('./common.cjs');
		--- esm.mjs
		export let m = 0; export const upM = () => { m++; };
		--- typed.ts
		export let t: number = 0; export const upT = () => { t++; }; export default 'own';
	END
	go
	ok '1 1 2 2 own true'
}

@test "TypeScript: a package with ES modules only, imported by either kind of module" {
	local kind
	for kind in mts ts; do
		files <<-END
			--- code.$kind
			import start, { title } from 'modern';
			import { part } from 'modern/part';
			console.log(start() as string, title, part);
			--- node_modules/modern/package.json
			{"name": "modern", "type": "module", "exports": {".": {"import": "./main.js"}, "./part": {"import": "./part.js"}}}
			--- node_modules/modern/main.js
			export const title = 'title'; export default () => 'started';
			--- node_modules/modern/part.js
			export const part = 'part';
		END
		go
		ok 'started title part'
	done
}

@test "TypeScript: a package is found under the importer's condition" {
	files <<-'END'
		--- code.mts
		import { way } from 'both';
		import old from './old.cjs';
		console.log(way, old);
		--- old.cts
		import { way } from 'both';
		export = way;
		--- node_modules/both/package.json
		{"name": "both", "exports": {"import": "./a.mjs", "require": "./a.cjs"}}
		--- node_modules/both/a.mjs
		export const way = 'import';
		--- node_modules/both/a.cjs
		exports.way = 'require';
	END
	go
	ok 'import require'
}

@test "TypeScript: JSON is imported with a type, with an assertion and without" {
	files <<-'END'
		--- code.mts
		import a from './s.json' with { type: 'json' };
		import b from './s.json' assert { type: 'json' };
		import c from './s.json';
		const d = await import('./s.json', { with: { type: 'json' } });
		console.log(a.k, a === b, b === c, d.default === a);
		--- s.json
		{"k": 9}
	END
	go
	ok '9 true true true'
}

@test "TypeScript: imports of package.json and paths of tsconfig.json" {
	files <<-'END'
		--- code.ts
		import { a } from '#part/a';
		import { b } from '@lib/b';
		import { c } from 'plain/c';
		import { d } from '@exact';
		console.log(a, b, c, d);
		--- package.json
		{"type": "module", "imports": {"#part/*": "./part/*.js"}}
		--- tsconfig.json
		// as people write it
		{"extends": "./base.json", "compilerOptions": {
		  "baseUrl": ".", /* here */
		  "paths": {"@lib/*": ["nowhere/*", "src/*"], "@exact": ["src/d.ts"],},
		}}
		--- base.json
		{"compilerOptions": {"strict": true}}
		--- part/a.ts
		export const a: number = 1;
		--- src/b.ts
		export const b: number = 2;
		--- plain/c.ts
		export const c: number = 3;
		--- src/d.ts
		export const d: number = 4;
	END
	go
	ok '1 2 3 4'
}

@test "TypeScript: what tsconfig.json says of the language is obeyed" {
	files <<-'END'
		--- code.ts
		function mark(target: any, name: string) { target.marked = name; }
		class A { @mark f() {} }
		console.log((A.prototype as any).marked);
		--- tsconfig.json
		{"compilerOptions": {"experimentalDecorators": true}}
	END
	go
	ok f
	files <<-'END'
		--- code.ts
		console.log(1);
		--- tsconfig.json
		{"compilerOptions": nothing}
	END
	go
	ended "$J" 1 exited
	run cat "$MNT/$J/stderr"
	assert_output --partial 'SyntaxError: /home/user/tsconfig.json: '
}

@test "TypeScript: its Workers are TypeScript, too" {
	files <<-'END'
		--- code.ts
		import { Worker } from 'worker_threads';
		const run = (file: string | URL) => new Promise((done, failed) =>
		  new Worker(file, { workerData: 2 }).on('message', done).on('error', failed));
		(async () => {
		  for (const file of ['./w.ts', './w.js', new URL('file:///home/user/w.mts')])
		    console.log(await run(file));
		})();
		--- w.ts
		import { parentPort, workerData } from 'worker_threads';
		import { twice } from './twice';
		parentPort!.postMessage(['w.ts', twice(workerData as number), process.execArgv.length]);
		--- w.js
		const { twice } = require('./twice.ts');
		require('worker_threads').parentPort.postMessage(['w.js', twice(3)]);
		--- w.mts
		import { parentPort } from 'worker_threads';
		const { twice } = await import('./twice.ts');
		parentPort!.postMessage(['w.mts', twice(4)]);
		--- twice.ts
		export const twice = (n: number): number => 2 * n;
	END
	go '{"timeout": 300}' # Node takes a second for each
	ok $'[ \'w.ts\', 4, 0 ]\n[ \'w.js\', 6 ]\n[ \'w.mts\', 8 ]'
}

@test "TypeScript: its children that are Node run TypeScript, too" {
	files <<-'END'
		--- code.ts
		import { fork, spawnSync, execFileSync } from 'child_process';
		import { twice } from './part/twice';
		enum Kind { Child = 7 }
		if (process.send) {
		  process.send([Kind.Child, twice(2), process.execArgv, process.argv.slice(2),
		    Object.keys(process.env).some((name) => name.startsWith('FSD'))]);
		  process.disconnect();
		} else {
		  const child = fork(__filename, ['a'], { execArgv: ['--stack-size=900'] });
		  child.on('message', (said: unknown) => console.log(JSON.stringify(said)));
		  child.on('exit', (code) => {
		    console.log('exit', code);
		    const ran = spawnSync(process.execPath, ['part/es.mts', 'b'], { encoding: 'utf8' });
		    console.log(ran.stdout.trim(), ran.status);
		    // a name of what a compiler would make of it
		    console.log(execFileSync('node', ['--', 'es.mjs'], { cwd: 'part', env: {}, encoding: 'utf8' }).trim());
		    console.log(execFileSync('node', ['-e', 'console.log(5)', 'part/es.mts']).toString().trim());
		  });
		}
		--- part/twice.ts
		export const twice = (n: number): number => 2 * n;
		--- part/es.mts
		import { Worker, isMainThread, parentPort } from 'worker_threads';
		import { fileURLToPath } from 'url';
		import { twice } from './twice';
		if (isMainThread)
		  new Worker(fileURLToPath(import.meta.url)).on('message', (m: number) => console.log('es', m, process.argv.slice(2).join()));
		else
		  parentPort!.postMessage(twice(4));
	END
	go '{"timeout": 300}'
	ok $'[7,4,["--stack-size=900"],["a"],false]\nexit 0\nes 8 b 0\nes 8\n5'
}

@test "TypeScript: a wrong file is an error with its line and column, imported or not" {
	local kind
	for kind in ts mts; do
		files <<-END
			--- code.$kind
			import './part/wrong';
			--- part/wrong.ts
			export const fine = 1;
			export const z: = 5;
		END
		go
		ended "$J" 1 exited
		run cat "$MNT/$J/stderr"
		assert_line --index 0 /home/user/part/wrong.ts:2
		assert_line --index 1 'export const z: = 5;'
		assert_line --index 2 '                ^'
		assert_line --index 3 'SyntaxError: Unexpected "="'
		assert_line --index 4 '    at /home/user/part/wrong.ts:2:17'
		result_is "$J" .error.name SyntaxError
	done
}

@test "TypeScript: no file of the runner is in a stack trace, a cache or a listing" {
	files <<-'END'
		--- code.ts
		import './part';
		console.log(new Error('here').stack);
		for (const way of [() => require('./nowhere'), () => require('internal/util')])
		  try { way(); } catch (e: any) { console.log(e.stack); }
		console.log(process.execArgv, Object.keys(require.cache), module.parent);
		console.log(require('module').builtinModules.some((n: string) => n.startsWith('internal')));
		import('./nowhere.mjs').catch((e) => console.log(e.stack));
		--- part.ts
		interface A { a: string }
		console.log(new Error('there').stack);
	END
	go
	ok
	run out
	assert_line '    at Object.<anonymous> (/home/user/code.ts:2:13)'
	assert_line '    at Object.<anonymous> (/home/user/part.ts:2:13)'
	assert_line "[] [ '/home/user/code.ts', '/home/user/part.ts' ] null"
	assert_line false
	refute_output --partial /usr/lib
}

@test "TypeScript: a failure names the line of the .ts file, in either kind of module" {
	local kind
	for kind in ts mts; do
		files <<-END
			--- code.$kind
			import { fail } from './part.js';
			interface Long {
			  name: string;
			}
			const one: Long = { name: 'x' };
			fail(one.name as string);
			--- part.ts
			type Text = string;
			export function fail(text: Text): never {
			  throw new RangeError(text);
			}
		END
		go
		ended "$J" 1 exited
		run cat "$MNT/$J/stderr"
		assert_line --index 0 --regexp 'part.ts:3$'
		assert_line --index 1 '  throw new RangeError(text);'
		assert_output --partial '/home/user/part.ts:3:9'
		assert_output --partial '/home/user/code.'"$kind"':6:1'
		refute_output --partial runner
	done
}

@test "TypeScript: the program's types are erased whatever its name is, if the job says so" {
	local name
	for name in code prog.txt prog code.js prog.mjs prog.cjs; do
		files <<-END
			--- $name
			import { add } from './typed';
			const n: number = add(40, 2);
			console.log(n, 'x' as string);
			--- typed.ts
			export const add = (a: number, b: number): number => a + b;
		END
		go '{"language": "typescript", "main": "'"$name"'"}'
		ok '42 x'
	done
	# an ES module by what it does, and what is wrong in it
	files <<-'END'
		--- prog
		const n: number = await Promise.resolve(5);
		console.log(n);
		throw new Error('here');
	END
	go '{"language": "typescript", "main": "prog"}'
	assert_equal "$(cat "$MNT/$J/stdout")" 5
	grep -q 'prog:3:7' "$MNT/$J/stderr"
	files <<-'END'
		--- prog.txt
		const n: = 5;
	END
	go '{"language": "typescript", "main": "prog.txt"}'
	ended "$J" 1 exited
	grep -q 'prog.txt:1' "$MNT/$J/stderr"
	# as a call, in a Worker and a child, and as a step
	files <<-'END'
		--- prog
		export function main(x: { n: number }): number { return x.n + 1; }
	END
	job_put "$J" input.json '{"n": 41}'
	go '{"language": "typescript", "main": "prog", "mode": "call"}'
	result_is "$J" .value 42
	files <<-'END'
		--- prog
		import { Worker, isMainThread } from 'worker_threads';
		import { fork } from 'child_process';
		const how: string = !isMainThread ? 'worker' : process.argv[2] ?? 'main';
		console.log(how);
		if (how === 'main')
		  new Worker(__filename).on('exit', () => fork(__filename, ['child']));
	END
	go '{"language": "typescript", "main": "prog"}'
	ok $'main\nworker\nchild'
	files <<-'END'
		--- prog
		let n: number = 5;
		console.log(n as number);
	END
	go '{"language": "typescript", "main": "prog", "session": "s"}'
	ok 5
	rmdir "$MNT/.fsd/sessions/s"
}
