// JSON is imported with resolveJsonModule.
import cfg from './settings.json';
import * as all from './settings.json';
console.log(cfg.name, cfg.n + 1, all.name);
