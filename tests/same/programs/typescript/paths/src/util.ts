export const util = 'util';
