export const based = 'based';
