// The environment is the user's; children inherit what the program sets.
const { execSync } = require('child_process');
for (const name of Object.keys(process.env).sort())
	console.log(name, JSON.stringify(process.env[name]));
process.env.MINE = 5;
delete process.env.GIVEN;
console.log(execSync("env | sort | grep -v '^_='").toString());
