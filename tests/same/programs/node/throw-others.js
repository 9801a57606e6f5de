// What is thrown and no error is shown as it is.
process.on('exit', (code) => console.log('exit', code, process.exitCode));
throw { code: 7, text: 'an object' };
