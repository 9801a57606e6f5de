// SPDX-License-Identifier: Apache-2.0
// Heating runs this.
console.log(1 as number);
import('data:text/javascript,export default 1').catch(() => {});
