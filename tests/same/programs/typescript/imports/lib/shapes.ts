export interface Shape { n: number }
export const named: string = 'named';
export default (n: number): number => n * 2;
