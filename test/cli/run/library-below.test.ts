/** Programs on the library below `switchgear run`: their guarded calls count on its limits, once. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { compiled } from '../../harness/compiled.ts';
import { root } from '../../harness/source.ts';
import { bin } from '../../harness/switchgear-bin.ts';

/** Each call is a task of its own, so that no limit of a task in the program is reached. */
const program = `
import { createSwitchgear, refusalOf } from ${JSON.stringify(join(root, 'src/index.ts'))};
const gear = createSwitchgear({ log: 'silent' });
const tool = gear.guard('tool', async (n) => 'ok ' + n);
const [calls, prints] = process.argv.slice(2).map(Number);
let ran = 0;
for (let n = 0; n < calls; n++) {
  if (prints) console.log(JSON.stringify({ type: 'tool_use', id: 'c' + n, name: 'tool', input: { n } }));
  const { status, value } = await gear.task(() => tool(n));
  if (status === 'done' && refusalOf(value) === undefined) ran++;
}
const outside = await tool(-1);
if (refusalOf(outside) === undefined) ran++;
console.log('ran=' + ran + ';');
`;

function run(context: TestContext, maxCalls: number, command: (file: string) => readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-below-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'program.ts');
  writeFileSync(file, program);
  const env = { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: `sqlite:${join(folder, 's.db')}` };
  const args = ['run', '--no-ask', '--quiet', '--max-calls', `${maxCalls}`, '--', ...command(file)];
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  const ran = [...stdout.matchAll(/ran=(\d+);/g)].reduce((sum, [, n]) => sum + Number(n), 0);
  const left = readdirSync(join(folder, '.local/state/switchgear/runs'));
  return { status, ran, stdout, stderr, left };
}

test('two processes of a run share its limit of calls, inside and outside of tasks', (context) => {
  const both = (file: string) => `"${process.execPath}" ${file} 8 & "${process.execPath}" ${file} 8; wait`;
  const { status, ran, stderr, left } = run(context, 10, (file) => ['sh', '-c', both(file)]);
  assert.ok(ran <= 10, `${ran} calls ran`);
  assert.equal(status, 75, stderr);
  assert.match(stderr, /tool calls: 11 of 10/);
  assert.deepEqual(left, [], 'no file is left behind');
});

test('a program within the limit is left alone', (context) => {
  const { status, ran, stderr } = run(context, 9, (file) => [process.execPath, file, '8']);
  assert.deepEqual([status, ran], [0, 9], stderr);
});

test('a program that also prints its calls is counted once', (context) => {
  const { status, ran, stderr } = run(context, 9, (file) => [process.execPath, file, '8', '1']);
  assert.deepEqual([status, ran], [0, 9], stderr);
});
