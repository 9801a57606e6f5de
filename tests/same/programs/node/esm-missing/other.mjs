console.log('never either');
export const there = 1;
