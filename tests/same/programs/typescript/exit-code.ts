// exitCode, arguments and the environment are the process's.
const [, , ...args]: string[] = process.argv;
console.log(args, process.env['WORD'], process.cwd(), process.uptime() < 20);
process.exitCode = args.length;
