// An import in a file without a package.json is explained.
import fs from 'fs';
console.log(fs);
