// SPDX-License-Identifier: Apache-2.0
// The living Node, where the waiting runner cannot be it: see living.js.
'use strict';

require('./own.js')('./living.js').begin();
