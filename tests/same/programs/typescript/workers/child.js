process.send({ argv: process.argv.slice(2) });
process.exitCode = 3;
