/** Writes chain.schema.json anew: `node test/chains/file/write-schema.ts`, then `npm run format`. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chainSchema } from '../../../src/chains/file/schema.ts';
import { root } from '../../harness/source.ts';

writeFileSync(join(root, 'chain.schema.json'), `${JSON.stringify(chainSchema(), null, 2)}\n`);
