/** Attacks on the counts of `switchgear run`: what an agent prints to have its calls counted once, or not at all. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestHome, type TestHome } from '../cli/run/run-cli.ts';

/** Runs a program that prints lines, with the flags of `run`. */
async function runPrinting(home: TestHome, source: string, flags: readonly string[] = [], command?: readonly string[]) {
  const program = join(home.folder, 'agent.mjs');
  writeFileSync(
    program,
    `const print = (event) => console.log(typeof event === 'string' ? event : JSON.stringify(event));\n${source}`,
  );
  const finished = await home.run(['run', '--json', ...flags, '--', ...(command ?? [process.execPath]), program]);
  const lines = finished.out
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { ...finished, lines, halted: lines.find(({ type }) => type === 'run-halted') };
}

test('attack 23: two hundred calls with one id are two hundred calls', async (t) => {
  const home = createTestHome();
  t.after(() => home.clear());
  const { code, halted } = await runPrinting(
    home,
    `for (let n = 0; n < 200; n++) {
      print({ type: 'tool_use', id: 'call_0', name: 'look', input: { n } });
      print({ type: 'tool_result', id: 'call_0', ok: true, output: 'page ' + n * 7919 });
    }`,
  );
  assert.equal(code, 75);
  assert.equal(halted?.code, 'tool_call_limit');
});

test('attack 23: identical calls with one id, and calls without results, are counted', async (t) => {
  const home = createTestHome();
  t.after(() => home.clear());
  const same = await runPrinting(
    home,
    `for (let n = 0; n < 200; n++) {
      print({ type: 'tool_use', id: 'call_0', name: 'look', input: {} });
      print({ type: 'tool_result', id: 'call_0', ok: true, output: 'page ' + n });
    }`,
  );
  assert.equal(same.code, 75);
  const open = await runPrinting(
    home,
    `for (let n = 0; n < 200; n++) print({ type: 'tool_use', id: 'call_0', name: 'look', input: { n } });`,
  );
  assert.equal(open.halted?.code, 'tool_call_limit');
});
