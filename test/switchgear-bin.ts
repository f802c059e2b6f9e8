/** The command as a file, for tests that start it. Tests of clauses get a stand-in for it in their second run. */

import { fileURLToPath } from 'node:url';

export const bin = fileURLToPath(new URL('../bin/switchgear.cjs', import.meta.url));
