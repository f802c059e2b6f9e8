/**
 * The command as a file, for tests that start it: the source as it is, whatever was built before. Tests of clauses get
 * a stand-in for it in their second run.
 */

import { fileURLToPath } from 'node:url';

export const bin = fileURLToPath(new URL('./source-switchgear.ts', import.meta.url));
