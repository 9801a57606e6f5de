// Standard input is read at once, by number and by name.
const fs = require('fs');
console.log(JSON.stringify(fs.readFileSync(0, 'utf8')));
console.log(fs.fstatSync(0).isFile(), fs.fstatSync(0).size);
console.log(fs.readFileSync('/dev/stdin', 'utf8').length);
