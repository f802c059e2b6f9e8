/**
 * The command as a file, for tests that start it: in a checkout it runs the source. Tests of clauses get a stand-in for
 * it in their second run.
 */

import { join } from 'node:path';
import { root } from './source.ts';

export const bin = join(root, 'bin', 'switchgear.cjs');
