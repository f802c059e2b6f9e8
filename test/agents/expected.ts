/** Writes beside every recording what it leads to: `node test/agents/expected.ts --write`. */

import { writeFileSync } from 'node:fs';
import { expectedPath, journalOf, play, recordings } from './recording.ts';

if (process.argv.includes('--write')) {
  for (const each of recordings()) writeFileSync(expectedPath(each), journalOf(play(each)));
}
