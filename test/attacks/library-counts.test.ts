/** Attacks on the files in which library programs below a run count their calls: nothing is gained by changing them. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Card } from '../../src/core/card.ts';
import { compiled } from '../harness/compiled.ts';
import { root } from '../harness/source.ts';
import { bin } from '../harness/switchgear-bin.ts';

/** Makes guarded calls and changes the files after each few of them, until the run ends it. */
const program = `
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSwitchgear } from ${JSON.stringify(join(root, 'src/index.ts'))};
const path = process.env.SWITCHGEAR_RUN_CALLS;
const change = {
  truncate: () => truncateSync(path, 0),
  refill: () => (truncateSync(path, 0), writeFileSync(path, '.'.repeat(6))),
  remove: () => rmSync(path, { force: true }),
  raise: () => writeFileSync(path + '.limit', '1000'),
  nothing: () => undefined,
}[process.argv[2]];
// The run marks what it has read.
const isRead = () => existsSync(path) && readFileSync(path).at(-1) === 13;
while (!existsSync(path + '.limit')) await sleep(10);
if (process.argv[2] === 'raise') change();
const gear = createSwitchgear({ log: 'silent' });
const tool = gear.guard('tool', async (n) => n);
for (let n = 0; n < Number(process.argv[3]); n++) {
  await gear.task(() => tool(n));
  if (n % 4 !== 3) continue;
  for (let wait = 0; wait < 40 && !isRead(); wait++) await sleep(20);
  change();
}
console.log('all calls were made');
`;

function attack(context: TestContext, how: string, calls: number) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-counts-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'program.ts');
  writeFileSync(file, program);
  const env = { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: `sqlite:${join(folder, 's.db')}` };
  const start = (...args: readonly string[]) =>
    spawnSync(process.execPath, [bin, ...args], { cwd: folder, env, encoding: 'utf8' });
  const command = [process.execPath, file, how, `${calls}`];
  const { status, stdout, stderr } = start('run', '--no-ask', '--quiet', '--max-calls', '9', '--', ...command);
  const cards = JSON.parse(start('inbox', 'list', '--json').stdout) as Card[];
  const reported = cards.filter(({ id }) => id.startsWith('card-run-calls-')).length;
  return { status, stdout, stderr, reported };
}

for (const how of ['truncate', 'refill', 'remove', 'raise']) {
  test(`a program that would ${how} the count of its calls is halted all the same, and it is a card`, (context) => {
    const { status, stdout, stderr, reported } = attack(context, how, 60);
    assert.equal(status, 75, stderr);
    assert.doesNotMatch(stdout, /all calls were made/);
    assert.equal(reported, 1);
  });
}

test('a program that changes nothing opens no card', (context) => {
  const { status, stdout, stderr, reported } = attack(context, 'nothing', 8);
  assert.deepEqual([status, stdout, reported], [0, 'all calls were made\n', 0], stderr);
});
