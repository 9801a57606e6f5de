// A top-level await that never settles ends with 13.
console.log('before');
await new Promise(() => {});
console.log('never');
