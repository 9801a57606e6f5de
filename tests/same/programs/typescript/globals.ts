// The global object and the listeners are Node's.
console.log(Object.keys(globalThis), Object.getOwnPropertySymbols(globalThis));
console.log(process.eventNames(), process.listenerCount('exit'), process.getActiveResourcesInfo());
console.log(Object.keys(process.env).sort().join(' '));
