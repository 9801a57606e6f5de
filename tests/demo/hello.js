const os = require("os");
console.log("hello from Node", process.version, "on", os.type());
process.exitCode = 3;
