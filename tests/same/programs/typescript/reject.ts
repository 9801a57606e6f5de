// An unhandled rejection ends with 1, and exit handlers see it.
process.on('exit', (code: number) => console.log('exit', code));
const later = async (ms: number): Promise<void> => new Promise((r) => setTimeout(r, ms));
later(1).then((): never => process.exit(process.exitCode = 5));
