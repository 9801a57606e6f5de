// An uncaught error shows its place, its stack and Node's version.
function fails(n) {
	if (n === 0)
		throw new TypeError('the reason');
	fails(n - 1);
}

console.log('before');
fails(2);
