/** `bin/switchgear.cjs` without its preference for what was built. */

import { main } from '../../src/cli/main.ts';

process.exitCode = await main(process.argv.slice(2));
