export const value: string = 'lazy';
