export async function go() {
	await null;
	throw new Error('second fails');
}
