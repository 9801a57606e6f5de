// SPDX-License-Identifier: Apache-2.0
// The living Node: see living.js.
'use strict';

require('./own.js')('./living.js');
