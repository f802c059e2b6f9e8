import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { type AgentEvent, accountEvents, boundedLines, readerFor } from '../../src/agents/index.ts';
import { createSwitchgear, type Entry, type SwitchgearOptions } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

/** A run of an agent that somebody else wrote, as it is told event by event. */
function watched(options: SwitchgearOptions = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ agent: 'Research Specialist', clock, log: 'silent', env: {}, ...options });
  const entries: Entry[] = [];
  gear.onEntry((entry) => entries.push(entry));
  const accounting = accountEvents(gear, gear.startTask({ id: 'research' }));
  const tell = (...events: readonly AgentEvent[]) => {
    for (const event of events) accounting.account(event);
  };
  const card = () => gear.snapshot().cards.find(({ kind }) => kind === 'halt');
  return { clock, gear, accounting, tell, card, entries };
}

const word = (n: number) => [...String(n)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
const lookUp = (n: number): readonly AgentEvent[] => [
  { type: 'tool_use', id: `c${n}`, name: 'scrape', input: { broker: word(n) } },
  { type: 'tool_result', id: `c${n}`, ok: true, output: `page ${word(n * 7919)}` },
];
const spent = (n: number): AgentEvent => ({
  type: 'usage',
  id: `m${n}`,
  model: 'claude-sonnet-4',
  inputTokens: 1_000_000,
  outputTokens: 1_000_000,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
});

/** The five ways in which a run is stopped, by their slugs. */
const stops: Readonly<Record<string, (run: ReturnType<typeof watched>) => void>> = {
  tool_call_limit({ tell }) {
    for (let n = 0; n < 51; n++) tell(...lookUp(n));
  },
  token_spend_limit({ tell }) {
    for (const n of [1, 2, 3]) tell(spent(n));
  },
  duration_limit({ tell, clock }) {
    for (let n = 0; n < 12; n++) {
      clock.advance(151_000);
      tell(...lookUp(n));
    }
  },
  idle_timeout: ({ clock }) => clock.advance(302_000),
  output_loop({ tell }) {
    for (let n = 0; n < 3; n++) tell({ type: 'assistant', text: 'I will try that once more now' });
  },
};

test('B13: on a trip the caller ends the subprocess', async () => {
  const script = `for (let n = 0; n < 60; n++) {
    console.log(JSON.stringify({ type: 'tool_use', id: 'c' + n, name: 'scrape', input: { page: 1 } }));
    console.log(JSON.stringify({ type: 'tool_result', id: 'c' + n, ok: false, output: 'no such page' }));
  }
  setTimeout(() => console.log('the agent was left alone'), 5_000);`;
  const { command, reader, signal } = readerFor([process.execPath, '-e', script]);
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const child = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  const accounting = accountEvents(gear, gear.startTask(), { onHalt: () => child.kill(signal) });
  const { read } = reader();
  const lines = boundedLines({
    line(line) {
      for (const event of read(line)) accounting.account(event);
    },
  });
  child.stdout.on('data', (chunk: Buffer) => lines.write(chunk));
  const ended = await new Promise((resolve) => child.on('close', (_code, by) => resolve(by)));
  accounting.end();
  gear.dispose();
  assert.equal(ended, 'SIGTERM');
  assert.equal(accounting.halt?.code, 'tool_loop');
});

test('B15: the card of each of the five halts carries its slug', () => {
  for (const [slug, stop] of Object.entries(stops)) {
    const run = watched();
    stop(run);
    assert.equal(run.card()?.code, slug);
    assert.equal(run.accounting.halt?.code, slug);
  }
});

test('B16: the user gets a human explanation, the log the full context', () => {
  const printed: string[] = [];
  const run = watched({ log: (line) => printed.push(line) });
  stops.tool_call_limit!(run);
  assert.equal(run.accounting.halt?.explanation, 'tool calls: 51 of 50');
  assert.ok(
    printed.some((line) => line.includes('tool calls: 51 of 50')),
    printed.join('\n'),
  );
  const halted = run.entries.find(({ type }) => type === 'task-halted');
  assert.equal(halted?.task, 'research');
  assert.equal(halted?.agent, 'Research Specialist');
  assert.deepEqual(halted?.type === 'task-halted' && halted.stop, {
    kind: 'halt',
    code: 'tool_call_limit',
    control: 'budget',
    counters: { actual: 51, limit: 50 },
  });
});

test('B41: the card names the halt reason and the task', () => {
  for (const [slug, stop] of Object.entries(stops)) {
    const run = watched();
    stop(run);
    const { code, task, evidence } = run.card() ?? {};
    assert.deepEqual([code, task], [slug, 'research']);
    assert.equal(evidence?.[0], run.accounting.halt?.explanation);
  }
});

test('B42: no failure is silent, not even one that calls itself a success', () => {
  const line = (fields: object) => JSON.stringify(fields);
  const loop = line({ type: 'error', severity: 'warning', message: 'Loop detected, stopping execution' });
  const failures = {
    'a loop that the agent found itself': [
      ['gemini', '-p', 'x', '--output-format', 'stream-json'],
      [loop, line({ type: 'result', status: 'success', stats: {} })],
    ],
    'a run that a hook stopped': [
      ['claude', '-p', 'x', '--output-format', 'stream-json'],
      [line({ type: 'result', subtype: 'success', is_error: false, terminal_reason: 'hook_stopped' })],
    ],
    'a refusal of the model server': [
      ['claude', '-p', 'x', '--output-format', 'stream-json'],
      [line({ type: 'result', subtype: 'success', is_error: true, terminal_reason: 'api_error' })],
    ],
    'a turn that failed': [
      ['codex', 'exec', '--json', 'x'],
      [line({ type: 'turn.failed', error: { message: 'no credit' } })],
    ],
    'an error and nothing more': [
      ['opencode', 'run', '--format', 'json', 'x'],
      [line({ type: 'error', sessionID: 's', error: { name: 'APIError', data: { message: 'no credit' } } })],
    ],
  } as const;
  for (const [name, [command, lines]] of Object.entries(failures)) {
    const run = watched();
    const { read } = readerFor(command).reader();
    for (const each of lines) run.tell(...read(each));
    assert.equal(run.accounting.result?.ok, false, name);
    assert.ok(run.accounting.result?.reason, name);
  }
  for (const stop of Object.values(stops)) {
    const run = watched();
    stop(run);
    assert.ok(run.accounting.halt?.explanation);
  }
});
