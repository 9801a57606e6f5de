// SPDX-License-Identifier: Apache-2.0
// Erases types by esbuild. Its own long-lived service is started before the
// template is saved and spoken to over two blocking pipes that init has made
// for it, so that a program's types are gone before Node looks for it. The
// protocol is that of esbuild's Node library: packets of a le32 length, a le32
// id and one tagged value, of which the first is the service's version.
'use strict';

const fs = require('fs');
const childProcess = require('child_process');

const BINARY = '/usr/bin/esbuild';
const LIBRARY = '/usr/lib/x86_64-linux-gnu/nodejs/esbuild/package.json';
// The descriptors that guest/run/child.c leaves: two pipes, both ends of each.
const ITS_INPUT = 5;
const TO_IT = 6;
const FROM_IT = 7;
const ITS_OUTPUT = 8;
const FLAGS = ['--color=false', '--log-level=silent', '--log-limit=0',
	       '--sourcemap=inline', '--platform=node',
	       '--target=node20.19', '--sources-content=false',
	       '--charset=utf8'];

const u32 = (number) => {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32LE(number);
	return bytes;
};

function encode(value) {
	const sized = (bytes) => [u32(bytes.length), bytes];
	if (typeof value === 'boolean')
		return [Buffer.from([1, +value])];
	if (typeof value === 'string')
		return [Buffer.from([3]), ...sized(Buffer.from(value))];
	if (value instanceof Uint8Array)
		return [Buffer.from([4]), ...sized(value)];
	if (Array.isArray(value))
		return [Buffer.from([5]), u32(value.length),
			...value.flatMap(encode)];
	const entries = Object.entries(value);
	return [Buffer.from([6]), u32(entries.length),
		...entries.flatMap(([key, item]) =>
			[...sized(Buffer.from(key)), ...encode(item)])];
}

function decode(bytes) {
	let at = 0;
	const number = () => bytes.readUInt32LE((at += 4) - 4);
	const blob = () => {
		const length = number();
		return bytes.subarray(at, at += length);
	};
	const value = () => {
		switch (bytes[at++]) {
		case 0: return null;
		case 1: return !!bytes[at++];
		case 2: return number();
		case 3: return blob().toString();
		case 4: return blob();
		case 5: return Array.from({ length: number() }, value);
		case 6: {
			const object = {};
			for (let left = number(); left; left--) {
				const key = blob().toString();
				object[key] = value();
			}
			return object;
		}
		default: throw new Error('esbuild: unknown value');
		}
	};
	return value();
}

// For a file that was not there when the program was started. What is wrong
// with it stands on standard error, as FILE:LINE:COLUMN and a sentence.
function transformOnce(source, flags) {
	const run = childProcess.spawnSync(BINARY,
		flags.map((f) => (f === '--log-level=silent'
			? '--log-level=warning' : f)),
		{ input: source, encoding: 'utf8', maxBuffer: 1 << 30 });
	const told = (sign) => [...String(run.stderr).matchAll(new RegExp(
		`${sign}.*\\] (.*)\n\n +.*:(\\d+):(\\d+):\n.*│ (.*)`,
		'g'))].map(([, text, line, column, lineText]) => ({
		text, location: { line: +line, column: +column, lineText,
				  length: 1 } }));
	const errors = told('ERROR');
	if (run.status !== 0 && !errors.length)
		errors.push({ text: run.stderr || String(run.error) });
	return { code: run.stdout, errors, warnings: told('WARNING') };
}

class Esbuild {
	// The service's ends of two pipes, and those that are spoken to here.
	start(its = [ITS_INPUT, ITS_OUTPUT], ours = [TO_IT, FROM_IT]) {
		const { version } = JSON.parse(fs.readFileSync(LIBRARY));
		[this.to, this.from] = ours;
		this.child = childProcess.spawn(BINARY,
			[`--service=${version}`],
			{ stdio: [...its, 'ignore'] });
		this.child.unref();
		for (const fd of its)
			fs.closeSync(fd);
		const greeting = this.#packet().toString();
		if (greeting !== version)
			throw new Error(`esbuild is ${greeting}, not ${version}`);
	}

	#read(length) {
		const bytes = Buffer.allocUnsafeSlow(length);
		for (let at = 0; at < length;) {
			const n = fs.readSync(this.from, bytes, at, length - at);
			if (!n)
				throw new Error('esbuild has gone');
			at += n;
		}
		return bytes;
	}

	#packet() {
		return this.#read(this.#read(4).readUInt32LE(0));
	}

	// Return: { code, errors, warnings }, lists of { text, location }.
	transform(file, source, format, tsconfig) {
		const loader = file.endsWith('x') ? 'tsx' : 'ts';
		const flags = [...FLAGS, `--sourcefile=${file}`,
			       `--format=${format}`, `--loader=${loader}`];
		if (tsconfig)
			flags.push(`--tsconfig-raw=${tsconfig}`);
		return this.child ? this.ask(source, flags)
			: transformOnce(source, flags);
	}

	ask(source, flags) {
		const body = Buffer.concat([u32(0), ...encode({
			command: 'transform', flags, inputFS: false,
			input: Buffer.from(source),
		})]);
		const packet = Buffer.concat([u32(body.length), body]);
		for (let at = 0; at < packet.length;)
			at += fs.writeSync(this.to, packet, at);
		const answer = decode(this.#packet().subarray(4));
		if (answer.error)
			return { errors: [{ text: answer.error }], warnings: [] };
		const { code, errors, warnings } = answer;
		return { code: String(code), errors, warnings };
	}

	stop() {
		this.child.kill('SIGKILL');
		this.child = undefined;
		fs.closeSync(this.to);
		fs.closeSync(this.from);
	}
}

module.exports = { Esbuild, FLAGS, transformOnce };
