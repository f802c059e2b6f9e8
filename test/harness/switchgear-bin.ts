/**
 * The command as a file, for tests that start it: `npm test` builds it once, as the package has it; where a file of
 * tests runs alone, it runs the source. Tests of clauses get a stand-in for it in their second run.
 */

import { join } from 'node:path';
import { root } from './source.ts';

/** The command of the checkout, which runs its source and which every user may read. */
export const sourceBin = join(root, 'bin', 'switchgear.cjs');

export const bin = process.env.BUILT_COMMAND ?? sourceBin;
