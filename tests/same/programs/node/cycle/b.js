exports.name = 'b';
exports.a = require('./a');
