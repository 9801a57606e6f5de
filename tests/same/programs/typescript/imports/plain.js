exports.plain = 'plain JavaScript';
