// SPDX-License-Identifier: Apache-2.0
//
// How vitest runs an official suite: theirs loads browsers. run.py sets the variables.
const words = (name) => (process.env[name] ?? '').split(' ').filter(Boolean)

// E2B's suite keeps the name of its template in a file of one constant, and reads no
// variable for it.
const template = {
	name: 'template',
	enforce: 'pre',
	transform(code, id) {
		if (!process.env.OFFICIAL_TEMPLATE || !id.endsWith('/tests/template.ts'))
			return null
		const named = /(?<=const template = )'base'/
		if (!named.test(code))
			throw new Error(`${id} names no template`)
		return code.replace(named, JSON.stringify(process.env.OFFICIAL_TEMPLATE))
	},
}

export default {
	plugins: [template],
	test: {
		include: words('OFFICIAL_INCLUDE'),
		exclude: words('OFFICIAL_EXCLUDE'),
		setupFiles: words('OFFICIAL_SETUP'),
		environment: 'node',
		isolate: true,
		testTimeout: 30_000 * Number(process.env.SLOW ?? 1),
		hookTimeout: 30_000 * Number(process.env.SLOW ?? 1),
		maxWorkers: 2,
		env: process.env,
	},
}
