// SPDX-License-Identifier: Apache-2.0
//
// How vitest runs an official suite: theirs loads browsers. run.py sets the variables.
const words = (name) => (process.env[name] ?? '').split(' ').filter(Boolean)

export default {
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
