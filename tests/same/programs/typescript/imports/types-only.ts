export interface Only { n: number }
