exports.index = __filename;
