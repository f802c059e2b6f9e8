/** Daily stories on every surface: honest work is left alone, and runaway agents are found in time. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { root } from '../harness/source.ts';
import { stories } from './stories.ts';
import { columns, formatPage, type PlayedStory, playEverywhere } from './table.ts';

/** Stories that a surface cannot see, and why. */
const unseen: Readonly<Record<string, readonly [surface: string, why: string]>> = {
  'failing-edit-not-found': ['codex', 'the JSON of Codex has no patch, so no edit equals another'],
  'repeating-write-same': ['codex', 'the JSON of Codex has no patch, so no edit equals another'],
  'other-comment-on-and-off': ['codex', 'the JSON of Codex has no patch, so no edit equals another'],
  'other-write-alternates': ['codex', 'the JSON of Codex has no patch, so no edit equals another'],
  'other-apologies': ['hooks', 'hooks get no texts of the model'],
  'repeating-text-only': ['hooks', 'hooks get no texts of the model'],
};
const sees = (name: string, column: string) => !column.startsWith(`${unseen[name]?.[0]} `);

const rows: PlayedStory[] = [];
before(async () => {
  for (const story of stories) rows.push(await playEverywhere(story));
});

/** Every story of a kind with what happened to it in one column. */
function inColumn(kind: 'healthy' | 'bad', column: string) {
  return rows.flatMap(({ story, played }) => (story.kind === kind ? [{ story, ...played[column]! }] : []));
}

test('there are enough stories, and each has a name of its own', () => {
  assert.equal(new Set(stories.map(({ name }) => name)).size, stories.length);
  assert.ok(stories.filter(({ kind }) => kind === 'healthy').length >= 40);
  assert.ok(stories.filter(({ kind }) => kind === 'bad').length >= 30);
});

for (const column of columns) {
  test(`honest work is not halted, refused or asked about, and rarely hinted at: ${column}`, () => {
    const healthy = inColumn('healthy', column);
    const touched = healthy.filter(
      ({ haltedAt, refusedAt, askedAt }) => (haltedAt ?? refusedAt ?? askedAt) !== undefined,
    );
    assert.deepEqual(
      touched.map(({ story, code, words }) => `${story.name}: ${code} ${words}`),
      [],
    );
    const hinted = healthy.flatMap(({ story, hintedAt }) => (hintedAt === undefined ? [] : [story.name]));
    assert.ok(hinted.length <= healthy.length / 10, hinted.join(', '));
  });

  test(`runaway agents are halted or hinted at in time, and a suspicion halts nobody: ${column}`, () => {
    const late = inColumn('bad', column).flatMap(({ story, haltedAt = 1_000, hintedAt = 1_000, code }) => {
      if (story.kind !== 'bad' || !sees(story.name, column)) return [];
      const { name, haltedBy, hintedBy } = story;
      const seen = `${name}: hint@${hintedAt} halt@${haltedAt} ${code}`;
      // A halt after refusals has the code of the first refusal on some surfaces.
      const isLoop = ['tool_loop', 'output_loop', 'circuit_open', undefined].includes(code);
      if (haltedBy !== undefined) return haltedAt <= haltedBy && isLoop ? [] : [`${seen}, halted by ${haltedBy}`];
      if (hintedBy === undefined) return [];
      if (Math.min(hintedAt, haltedAt) > hintedBy) return [`${seen}, hinted by ${hintedBy}`];
      return haltedAt < 1_000 && isLoop ? [`${seen}, which is no certainty`] : [];
    });
    assert.deepEqual(late, []);
  });
}

test('docs/daily-work.md shows what happens to each story: node test/daily/main.ts --write', () => {
  const page = formatPage(rows);
  console.log(page);
  assert.equal(readFileSync(join(root, 'docs/daily-work.md'), 'utf8'), page);
});
