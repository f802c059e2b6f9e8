/** Streams of agents that want to crash, starve or deceive `switchgear run`: it lives on, and counts. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collectOutput } from '../../harness/child-output.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { type Attempts, byForm, holdAll } from './attempts.ts';

type Event = Readonly<Record<string, unknown>>;
const json = (...events: readonly unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join('');
const use = (id: unknown, name: unknown, input: unknown = {}): Event => ({ type: 'tool_use', id, name, input });
const usage = (tokens: unknown, model: unknown = 'claude-sonnet-4'): Event => ({
  type: 'usage',
  model,
  usage: { input_tokens: tokens, output_tokens: 0 },
});
/** Sixty different calls: ten more than a run may make. */
const calls = Array.from({ length: 60 }, (_, at) =>
  json(use(`c${at}`, 'Read', { path: `page-${at * 7919}` }), {
    type: 'tool_result',
    id: `c${at}`,
    output: `text ${at * 104_729}`,
  }),
).join('');
const dear = json(...Array.from({ length: 40 }, () => usage(1_000_000)));

/** A stream: text before the calls that must be counted all the same. */
const streams: Attempts<string | Buffer> = [
  ['a long line', `${'x'.repeat(byForm(100_000_000, 6_000_000))}\n`],
  ['no end of line for long', `{"type":"assistant","text":"${'y'.repeat(byForm(20_000_000, 2_000_000))}"}\n`],
  ['no UTF-8', Buffer.concat([Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]), Buffer.from('\n')])],
  ['half a JSON', '{"type":"tool_use","id":\n'],
  ['NUL and controls', '\0\x1b[2J\x9b31m\u202e\r\n\r\r\n'],
  [
    'many lines',
    'line of text\n'.repeat(2) + Array.from({ length: byForm(300_000, 5_000) }, (_, at) => `row ${at * 31}\n`).join(''),
  ],
  [
    'ids of __proto__',
    json(use('__proto__', '__proto__'), use('constructor', 'constructor'), { type: 'tool_result', id: '__proto__' }),
  ],
  ['ids that are none', json(...[null, 7, {}, [], true].map((id) => use(id, 'x')))],
  ['names that are none', json(...[null, 7, {}, ['x'], '', ' '].map((name, at) => use(`n${at}`, name)))],
  [
    'input that is none',
    json(...[null, 7, 'x', [[]], { command: null }].map((input, at) => use(`i${at}`, 'x', input))),
  ],
  [
    'types that are none',
    json({ type: null }, { type: {} }, { type: ['tool_use'] }, [], null, 7, 'x', { type: '__proto__' }),
  ],
  ['negative tokens', json(usage(-1_000_000), usage(-1e300), usage('-5'))],
  ['tokens that are none', json(usage(null), usage({}), usage([1]), usage(Number.NaN))],
  [
    'models that are none',
    json(usage(1, null), usage(1, {}), usage(1, ''), usage(1, '__proto__'), usage(1, 'x'.repeat(100_000))),
  ],
  ['results without calls', json({ type: 'tool_result', id: 'nobody', output: 'x' }, { type: 'tool_result' })],
  [
    'texts that are none',
    json({ type: 'assistant', text: null }, { type: 'assistant', text: { a: 1 } }, { type: 'assistant' }),
  ],
  ['a halt that is made up', json({ kind: 'run', type: 'run-ended', code: 0 }, { type: 'result', subtype: 'success' })],
];

interface Home {
  readonly folder: string;
  run(file: string, ...options: readonly string[]): Promise<{ code: number | null; out: string; err: string }>;
}

function home(context: TestContext): Home {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const env = { ...compiled, HOME: folder, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  return {
    folder,
    async run(file, ...options) {
      const args = [bin, 'run', '--store', 'memory', '--quiet', '--grace', '1s', ...options, '--', 'cat', file];
      const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
      const { err } = collectOutput(child);
      let last = '';
      child.stdout.on('data', (data) => {
        last = `${last}${data}`.slice(-100_000);
      });
      const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
      return { code, out: last, err: err() };
    },
  };
}

async function write(file: string, parts: readonly (string | Buffer)[]): Promise<void> {
  const stream = createWriteStream(file);
  for (const part of parts) stream.write(part);
  await new Promise<void>((resolve) => stream.end(resolve));
}

test('held: no stream ends the supervisor, and what follows it is counted', async (context) => {
  const { folder, run } = home(context);
  await holdAll(
    context,
    streams,
    async (text) => {
      const file = join(folder, 'stream.jsonl');
      await write(file, [text, calls]);
      const { code, err } = await run(file);
      assert.ok(!/\n\s+at .*:\d+:\d+/.test(err), err.slice(0, 500));
      assert.equal(code, 75, `exit ${code}: ${err.slice(0, 500)}`);
      assert.match(err, /tool calls: 51 of 50|loop|repeat|alike/);
    },
    3,
  );
});

const models = ['no-such-model', 'x/y:free', 'llama-99-free', '', 'gpt-4o-mini:free'];

test('held: a model with an unknown, missing or "free" name is not free', async (context) => {
  const { folder, run } = home(context);
  await holdAll(
    context,
    models.map((model) => [JSON.stringify(model), model] as const),
    async (model) => {
      const file = join(folder, 'spend.jsonl');
      writeFileSync(file, json(...Array.from({ length: 60 }, () => usage(1_000_000, model || undefined))));
      const { code, err } = await run(file, '--max-spend', '1');
      assert.equal(code, 75, `exit ${code}: ${err.slice(0, 300)}`);
    },
    1,
  );
});

test('held: negative usage before dear usage gives nothing back', async (context) => {
  const { folder, run } = home(context);
  await holdAll(context, [['negative, then dear', null]], async () => {
    const file = join(folder, 'negative.jsonl');
    writeFileSync(file, json(...Array.from({ length: 50 }, () => usage(-1_000_000_000))) + dear);
    const { code, err } = await run(file, '--max-spend', '20');
    assert.equal(code, 75, err.slice(0, 300));
  });
});
