export let count = 0;
export const inc = () => { count++; };
