// unhandledRejection and rejectionHandled are told, warnings too.
process.on('unhandledRejection', (reason, p) => console.log('unhandled', reason.message));
process.on('rejectionHandled', () => console.log('handled later'));
process.on('warning', (w) => console.log('warning', w.name, w.message));
const p = Promise.reject(new Error('x'));
setTimeout(() => p.catch(() => {}), 10);
process.emitWarning('careful', { code: 'MINE' });
