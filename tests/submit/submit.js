// SPDX-License-Identifier: Apache-2.0
// submit JOB CONFIG: see submit.py.
const fs = require("fs");

const [job, config] = process.argv.slice(2);
fs.mkdirSync(job);
fs.writeFileSync(`${job}/code.sh`,
	"out hello\nerr oops\nwrite result.txt made\nexit 7\n");
fs.writeFileSync(`${job}/config.json`, config);
(async () => {
	await fs.promises.readFile(`${job}/wait`);
	for (const name of ["exit_code", "stdout", "output/result.txt"])
		process.stdout.write(fs.readFileSync(`${job}/${name}`, "utf8"));
})();
