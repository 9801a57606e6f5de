// SPDX-License-Identifier: Apache-2.0
// Node's own modules, which --expose-internals shows to the runner and hide() takes away.
'use strict';

const Module = require('module');
const { getOrInitializeCascadedLoader: loader } =
	require('internal/modules/esm/loader');
const { loadBuiltinModule } = require('internal/modules/helpers');

// Ends what --expose-internals has begun.
function hide() {
	const Builtin = loadBuiltinModule('fs').constructor;
	const open = Module.builtinModules.filter((name) =>
		!name.startsWith('internal/'));
	Builtin.setRealmAllowRequireByUsers([...open, 'test', 'test/reporters',
					     'sea', 'sqlite']);
	Module.builtinModules = Object.freeze(open);
}

module.exports = { loader, hide };
