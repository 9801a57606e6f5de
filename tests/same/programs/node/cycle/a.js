const b = require('./b');
exports.b = () => b;
exports.seen = Object.keys(b);
