// SPDX-License-Identifier: Apache-2.0
// What heating runs.
console.log(1 as number);
