/** The command from its source, as a process of its own; a word before the command is passed over. */

import { main } from '../../src/cli/main.ts';

const [, , ...words] = process.argv;
process.exitCode = await main(words[0] === 'switchgear' ? words.slice(1) : words);
