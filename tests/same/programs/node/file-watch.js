// A watched directory tells of changes.
const fs = require('fs');
fs.mkdirSync('d');
const w = fs.watch('d', (event, name) => {
	console.log(event, name);
	w.close();
});
fs.writeFileSync('d/file', 'x');
