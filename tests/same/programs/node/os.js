// os tells of the user, the directories and the system.
const os = require('os');
console.log(os.userInfo(), os.homedir(), os.tmpdir(), os.EOL === '\n', os.platform(), os.endianness());
console.log(os.type(), os.arch(), os.availableParallelism() > 0, os.totalmem() > 1e6, os.hostname());
console.log(Object.keys(os.networkInterfaces()), os.constants.signals.SIGTERM);
try {
	os.setPriority(-5);
} catch (e) {
	console.log(e.code);
}
