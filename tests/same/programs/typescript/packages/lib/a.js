exports.a = 7;
