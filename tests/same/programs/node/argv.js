// The process has the usual arguments, paths and settings.
for (const word of process.argv)
	console.log(JSON.stringify(word));
console.log(process.execPath, process.execArgv);
console.log(process.title, process.argv0);
console.log(process.version, process.platform, process.arch, process.release.name);
console.log(process.exitCode, process.connected, typeof process.send);
console.log(process.cwd(), __filename, __dirname, process.umask());
console.log(process.getuid(), process.geteuid(), process.getgid(), process.getgroups());
