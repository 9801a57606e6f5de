export { named as again } from './shapes';
export const index = true as boolean;
