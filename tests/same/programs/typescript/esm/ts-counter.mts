export let tsCount: number = 0;
export const tsInc = (): void => { tsCount++; };
