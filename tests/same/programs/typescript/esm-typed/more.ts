export const b: number = 2;
