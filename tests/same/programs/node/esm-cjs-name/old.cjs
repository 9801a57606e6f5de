module.exports = Object.fromEntries([['hid' + 'den', 1]]);
