// tsconfig.json's paths and baseUrl lead to files.
import { greet } from '@lib/greet';
import { util } from '~util';
import { based } from 'src/based';
console.log(greet('you'), util, based);
