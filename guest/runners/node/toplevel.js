// SPDX-License-Identifier: Apache-2.0
// The names that a step declares outside functions stay, and a later step may
// declare them again. So const, let and class become var, which the main context
// keeps and takes again. A step that awaits (or returns) outside functions
// runs in an async function: its functions are declared before it and its
// variables become assignments. import() becomes __import(), because Node gives
// code of node:vm no loader. So does `import x from "y"`, which runs before the rest
// as in a module; of `export` only what it exports is left. Lines stay where they are.
'use strict';

const vm = require('vm');

// Debian has it as a package; elsewhere it is inside Node.
function findAcorn() {
	try {
		return require('/usr/share/nodejs/acorn');
	} catch {
		const text = process.binding('natives')[
			'internal/deps/acorn/acorn/dist/acorn'];
		const module = { exports: {} };
		vm.compileFunction(text, ['exports', 'module'])(
			module.exports, module);
		return module.exports;
	}
}

const { parse } = findAcorn();
const SCRIPT = { ecmaVersion: 'latest', sourceType: 'script', allowHashBang: true };
const ASYNCHRONOUS = { ...SCRIPT, allowAwaitOutsideFunction: true,
		       allowReturnOutsideFunction: true };
const MODULE = { ...ASYNCHRONOUS, allowImportExportEverywhere: true };

const FUNCTIONS = /^(Function|ArrowFunction|StaticBlock)/;

function parseAs(source, options) {
	try {
		return parse(source, options);
	} catch {
		return null;
	}
}

// The names that a pattern binds.
function namesIn(pattern) {
	switch (pattern?.type) {
	case 'Identifier':
		return [pattern.name];
	case 'ObjectPattern':
		return pattern.properties.flatMap((p) =>
			namesIn(p.type === 'Property' ? p.value : p));
	case 'ArrayPattern':
		return pattern.elements.flatMap(namesIn);
	case 'AssignmentPattern':
		return namesIn(pattern.left);
	case 'RestElement':
		return namesIn(pattern.argument);
	default:
		return [];
	}
}

const namesOf = (declaration) =>
	declaration.declarations.flatMap((d) => namesIn(d.id));

function edited(source, edits) {
	let text = '', at = 0;
	edits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
	for (const [from, to, instead] of edits) {
		text += source.slice(at, from) + instead;
		at = to;
	}
	return text + source.slice(at);
}

const blank = (text) => text.replace(/[^\r\n\u2028\u2029]/g, ' ');

// `let x;` makes x undefined once more.
function initialise(declaration, edits) {
	if (declaration.kind === 'var')
		return;
	for (const { init, end } of declaration.declarations)
		if (!init)
			edits.push([end, end, ' = void 0']);
}

function plain(source, body, edits) {
	const names = [];
	for (const node of body) {
		if (node.type === 'VariableDeclaration') {
			const { start, kind } = node;
			names.push(...namesOf(node));
			initialise(node, edits);
			edits.push([start, start + kind.length,
				    'var'.padEnd(kind.length)]);
		} else if (node.type === 'ClassDeclaration') {
			const { start, end, id: { name } } = node;
			names.push(name);
			edits.push([start, start, `var ${name} = `],
				   [end, end, ';']);
		} else if (node.type === 'FunctionDeclaration') {
			names.push(node.id.name);
		}
	}
	return { names, code: edited(source, edits) };
}

function* within(node) {
	for (const item of Object.values(node).flat())
		if (typeof item?.type === 'string')
			yield item;
}

// Declarations of var in blocks and loops, where they are not in functions.
function* innerVars(node, parent) {
	if (FUNCTIONS.test(node.type))
		return;
	if (node.type === 'VariableDeclaration' && node.kind === 'var')
		yield [node, parent];
	for (const inner of within(node))
		yield* innerVars(inner, node);
}

function* imports(node) {
	if (node.type === 'ImportExpression')
		yield [node.start, node.start + 6, '__import'];
	else if (node.type === 'MetaProperty' && node.meta.name === 'import')
		yield [node.start, node.end, '__import.meta'];
	for (const inner of within(node))
		yield* imports(inner);
}

function assign(source, node, parent, edits) {
	const { start, end, kind, declarations } = node;
	const last = declarations[declarations.length - 1];
	if (/^For/.test(parent?.type) && parent.body !== node) {
		edits.push([start, start + kind.length, '']);
		return;
	}
	initialise(node, edits);
	edits.push([start, start + kind.length, 'void('],
		   [last.end, last.end, source[end - 1] === ';' ? ')' : ');']);
}

// Return: what an import becomes, and the names that it binds.
function imported({ specifiers, source: { raw } }, checked) {
	const own = ({ imported: name }) => name.name ?? name.value;
	const load = `await __import(${raw})`;
	const whole = specifiers.find((s) => s.type === 'ImportNamespaceSpecifier');
	const parts = specifiers.filter((s) => s !== whole)
		.map((s) => [s.type === 'ImportDefaultSpecifier' ? 'default' : own(s),
			     s.local.name]);
	const names = specifiers.map((s) => s.local.name);
	if (!parts.length)
		return { names, code: whole ? `${whole.local.name} = ${load};`
			: `${load};` };
	const keys = JSON.stringify(parts.map(([name]) => name));
	const space = checked ? `await __import.names(${raw}, ${keys})` : load;
	const pattern = parts.map(([name, local]) =>
		`${JSON.stringify(name)}: ${local}`).join(', ');
	return { names, code: `({ ${pattern} } = ` + (whole
		? `${whole.local.name} = ${space});` : `${space});`) };
}

// An export without the word: its declaration, or an expression.
function exported(source, node, edits) {
	const { declaration, start } = node;
	edits.push([start, declaration.start,
		    blank(source.slice(start, declaration.start))]);
	if (/Declaration$/.test(declaration.type) &&
	    (declaration.id || declaration.declarations))
		return declaration;
	const { start: from, end } = declaration;
	return { type: 'ExpressionStatement', start: from, end: node.end,
		 expression: { start: from, end }, isExported: true };
}

// Takes imports and exports out of the source. Return: { names, open, body }: what they
// bind, the code that comes first, and the other statements.
function unbound(source, body, edits, checked) {
	const found = { names: [], open: '', body: [] };
	for (const node of body) {
		const { type, start, end } = node;
		const from = node.source?.raw;
		if (type === 'ImportDeclaration') {
			const { names, code } = imported(node, checked);
			found.names.push(...names);
			found.open += code;
		} else if (from) {
			found.open += `await __import(${from});`;
		}
		if (node.declaration)
			found.body.push(exported(source, node, edits));
		else if (/^(Import|Export)/.test(type))
			edits.push([start, end, blank(source.slice(start, end))]);
		else
			found.body.push(node);
	}
	return found;
}

function asynchronous(source, all, edits, checked) {
	const outer = [], before = [];
	const { names, open, body } = unbound(source, all, outer, checked);
	let last = 0;
	if (source.startsWith('#!')) {
		const end = /$/m.exec(source).index;
		edits.push([0, end, blank(source.slice(0, end))]);
	}
	const inner = edits.splice(0);
	edits.push(...outer);
	for (const node of body) {
		const { start, end } = node;
		const own = inner.filter(([from]) => from >= start && from < end);
		if (node.type === 'FunctionDeclaration' || node.directive) {
			before.push(blank(source.slice(last, start)),
				    edited(source.slice(start, end),
					   own.map(([from, to, text]) =>
						[from - start, to - start, text])));
			last = end;
		} else {
			edits.push(...own);
		}
		if (node.type === 'FunctionDeclaration') {
			edits.push([start, end, blank(source.slice(start, end))]);
		} else if (node.type === 'ClassDeclaration') {
			names.push(node.id.name);
			edits.push([start, start, `${node.id.name} = `],
				   [end, end, ';']);
		} else if (node.type === 'VariableDeclaration') {
			names.push(...namesOf(node));
			assign(source, node, null, edits);
		} else if (node.isExported && node !== body.at(-1)) {
			edits.push([start, start, '('],
				   [node.expression.end, node.expression.end, ')']);
		} else {
			for (const [found, parent] of innerVars(node)) {
				names.push(...namesOf(found));
				assign(source, found, parent, edits);
			}
		}
	}
	const end = body[body.length - 1];
	if (end?.type === 'ExpressionStatement' && !end.directive)
		edits.push([end.start, end.start, 'return ('],
			   [end.expression.end, end.expression.end, ')']);
	return { names, functions: before.join(''), open: `(async () => {${open}`,
		 code: edited(source, edits), close: '\n})()' };
}

// Return: { names, functions, open, code, close }; all but code may be missing.
// checked: an import of what is not there is an error, and not undefined.
function rewrite(source, cell, checked = true) {
	// A cell that looks like an object is one.
	if (cell && /^\s*\{/.test(source) && parseAs(`(${source}\n)`, SCRIPT))
		return { open: '(', code: source, close: '\n)' };
	const first = parseAs(source, SCRIPT);
	const tree = first ?? parseAs(source, ASYNCHRONOUS) ??
		parseAs(source, MODULE);
	if (!tree)
		return { code: source };
	const edits = /\bimport\b/.test(source) ? [...imports(tree)] : [];
	return first ? plain(source, tree.body, edits)
		: asynchronous(source, tree.body, edits, checked);
}

// Return: the tokens of a program, or null.
function tokensOf(source) {
	const tokens = [];
	return parseAs(source, { ...MODULE, onToken: tokens }) && tokens;
}

module.exports = { rewrite, tokensOf };
