// Files by callbacks, promises and at once, with the errors of an ordinary user.
const fs = require('fs');
const path = require('path');
function attempt(what, fn) {
	try {
		console.log(what, fn());
	} catch (e) {
		console.log(what, e.code, e.errno, e.syscall, e.message);
	}
}
fs.mkdirSync('a/b', { recursive: true });
fs.writeFileSync('a/b/text', 'ü\n', { mode: 0o640 });
fs.appendFileSync('a/b/text', 'more');
fs.copyFileSync('a/b/text', 'a/copy');
fs.symlinkSync('copy', 'a/link');
fs.renameSync('a/copy', 'a/moved');
fs.truncateSync('a/moved', 3);
console.log(fs.readdirSync('a', { recursive: true }).sort(), fs.lstatSync('a/link').isSymbolicLink());
attempt('exists', () => [fs.existsSync('a/link'), fs.readlinkSync('a/link'), (fs.statSync('a/b/text').mode & 0o777).toString(8)]);
fs.unlinkSync('a/link');
attempt('missing', () => fs.readFileSync('nothing'));
attempt('directory', () => fs.readFileSync('a'));
attempt('system', () => fs.writeFileSync('/etc/mine', ''));
attempt('system log', () => fs.appendFileSync('/var/log/app.log', ''));
attempt('unlink', () => fs.unlinkSync('/usr/lib/nothing'));
attempt('rm', () => fs.rmSync('/usr/lib/nothing', { force: true }));
attempt('mkdir', () => fs.mkdirSync('/opt/app'));
attempt('mkdirp', () => fs.mkdirSync('/opt/app/x', { recursive: true }));
attempt('access', () => fs.accessSync('/etc/passwd', fs.constants.W_OK));
attempt('chmod', () => fs.chmodSync('/etc/passwd', 0o777));
attempt('rmdir', () => fs.rmdirSync('a'));
attempt('exclusive', () => fs.openSync('a/moved', 'wx'));
attempt('temporary', () => path.dirname(fs.mkdtempSync(path.join(require('os').tmpdir(), 'x-'))));
fs.promises.readFile('a/moved').then((b) => console.log(b));
fs.readFile('/root/x', (e) => console.log(e.code));
