// JSON is imported with an attribute, as a whole.
import cfg from './settings.json' with { type: 'json' };
console.log(cfg.name, cfg.list.length, cfg);
export {};
