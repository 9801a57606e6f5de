import { word } from '@lib/word';
export const greet = (name: string): string => `${word} ${name}`;
