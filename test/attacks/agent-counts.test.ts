/** Attacks on the counts of `switchgear run`: what an agent prints to have its calls counted once, or not at all. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventsByShapeReader } from '../../src/agents/events-by-shape.ts';
import { heartbeatReader } from '../../src/agents/other/heartbeat.ts';
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

test('attack 24: heartbeats in a text that a model writes share nothing out', async (t) => {
  const home = createTestHome();
  t.after(() => home.clear());
  const words = 'I will look at the file again and then I will try the same thing once more.';
  const { code, halted } = await runPrinting(
    home,
    `for (let n = 0; n < 40; n++) print('[heartbeat] starting t' + n + '\\n\\n${words}\\n');`,
  );
  assert.equal(code, 75);
  assert.equal(halted?.code, 'output_loop');
});

test('attack 24: calls that heartbeats share out over tasks add up for the run', async (t) => {
  const home = createTestHome();
  t.after(() => home.clear());
  const source = `for (let n = 0; n < 400; n++) {
    if (n % 40 === 0) print('[heartbeat] starting t' + n);
    print({ type: 'tool_use', id: 'c' + n, name: 'look', input: { n } });
    print({ type: 'tool_result', id: 'c' + n, ok: true, output: 'page ' + n * 7919 });
  }`;
  const { halted, err } = await runPrinting(home, source, ['--max-tree-calls', '200']);
  assert.equal(halted?.code, 'tree_call_limit');
  assert.equal(halted?.flag, '--max-tree-calls');
  assert.match(err, /the limit is --max-tree-calls/);
});

test('attack 24: words that heartbeats share out over tasks are repeated by the run', async (t) => {
  const home = createTestHome();
  t.after(() => home.clear());
  const words = 'I will look at the file again and then I will try the same thing once more.';
  const source = `for (let n = 0; n < 40; n++) {
    print('[heartbeat] starting t' + n);
    print({ type: 'tool_use', id: 'c' + n, name: 'look', input: { n } });
    print({ type: 'tool_result', id: 'c' + n, ok: true, output: 'page ' + n * 7919 });
    print({ type: 'assistant', text: '${words}' });
    print('[heartbeat] done t' + n);
  }`;
  for (const flags of [[], ['--heartbeats']]) {
    const { halted, code } = await runPrinting(home, source, flags);
    assert.deepEqual([code, halted?.code], [75, 'output_loop'], flags.join());
  }
});

test('attack 24: a million heartbeats open a bounded number of tasks', () => {
  const reader = heartbeatReader(eventsByShapeReader());
  let opened = 0;
  for (let n = 0; n < 1_000_000; n++)
    for (const { type } of reader.read(`[heartbeat] starting t${n}`)) if (type === 'subagent_started') opened++;
  assert.equal(opened, 100);
});

test('attack 25: calls in lines that are too long are counted, and the number of lines is told', async (t) => {
  const home = createTestHome();
  t.after(() => home.clear());
  const { halted, lines, err } = await runPrinting(
    home,
    `const pad = 'x'.repeat(4_300_000);
    for (let n = 0; n < 6; n++) {
      print({ type: 'tool_use', id: 'c' + n, name: 'write' + n, input: { n, pad } });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }`,
    ['--max-calls', '5'],
  );
  assert.equal(halted?.code, 'tool_call_limit', err);
  assert.equal(lines.find(({ type }) => type === 'lines-skipped')?.lines, 6);
});
