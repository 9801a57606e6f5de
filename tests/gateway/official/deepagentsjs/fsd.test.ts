// SPDX-License-Identifier: Apache-2.0
//
// The suite is for backends of any provider; this names ours.
import { FsdSandbox } from 'fsd-sandbox/deepagents'

import { sandboxStandardTests } from '../src/vitest.js'

sandboxStandardTests({
	name: 'FsdSandbox',
	timeout: 60_000 * Number(process.env.SLOW ?? 1),
	createSandbox: (options) => FsdSandbox.create(options),
	createUninitializedSandbox: () => new FsdSandbox(),
	closeSandbox: (sandbox) => sandbox.close(),
	resolvePath: (name) => `/home/user/${name}`,
})
