// An await at the top of a CommonJS file is a syntax error.
const x = await Promise.resolve(1);
console.log(x);
