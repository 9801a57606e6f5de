exports.named = 1;
exports.other = __filename;
