// TZ is obeyed at the start and when it changes.
console.log(new Date(0).toString(), new Date(2024, 6, 1).getTimezoneOffset());
process.env.TZ = 'Europe/Berlin';
console.log(new Date(0).toString(), new Date(Date.UTC(2024, 6, 1)).toLocaleString('de-DE'));
