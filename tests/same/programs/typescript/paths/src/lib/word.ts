export const word = 'hi';
