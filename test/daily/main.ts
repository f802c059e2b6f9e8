/**
 * Prints what happens to daily stories: `node test/daily/main.ts [--write] [--words] [--preset NAME] [NAME …]`. A name
 * selects the stories whose names contain it; `healthy` and `bad` select kinds.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type PresetName, presets } from '../../src/policy/index.ts';
import { root } from '../harness/source.ts';
import { stories } from './stories.ts';
import { formatPage, formatTable, formatWords, type PlayedStory, playEverywhere } from './table.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean' }, words: { type: 'boolean' }, preset: { type: 'string' } },
});

const isWanted = ({ name, kind }: { readonly name: string; readonly kind: string }) =>
  positionals.length === 0 || positionals.some((each) => each === kind || name.includes(each));

const rows: PlayedStory[] = [];
const { preset = 'coding' } = values;
if (!Object.hasOwn(presets, preset)) throw new Error(`there is no preset ${preset}`);
for (const story of stories.filter(isWanted)) rows.push(await playEverywhere(story, preset as PresetName));
const table = formatTable(rows);
console.log(table);
if (values.words === true) console.log(`\n${formatWords(rows)}`);
if (values.write === true) writeFileSync(join(root, 'docs/daily-work.md'), formatPage(rows));
