import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import type { Entry, EntryBody, EntryPlace } from '../../../src/core/event.ts';
import { replayRecords } from '../../../src/core/replay/records.ts';
import type { ReplayOptions } from '../../../src/core/replay/state.ts';
import type { Settings } from '../../../src/core/settings.ts';
import { allow, type Code, type Counters, type Verdict } from '../../../src/core/verdict.ts';
import { makeAction, makeLimits, makeStop } from '../../harness/control-story.ts';

type Line = EntryBody & EntryPlace & { readonly atMs?: number };

const key = 'breaker/agent/ann/search';

function repeated(lines: readonly Line[], said: Partial<Settings> = {}, options: ReplayOptions = {}) {
  const entries = lines.map((line, at) => ({ seq: at + 1, atMs: 0, wallMs: 0, ...line }) as Entry);
  const { decisions, differences } = replayRecords(entries, { ...defaultSettings, ...said }, options);
  return { decisions, differences: differences.map(({ seq, expected, got }) => `${seq} ${expected}: ${got}`) };
}

const halted = (code: Code, counters: Counters, said: { task?: string; cause?: string } = {}): Line => ({
  type: 'task-halted',
  stop: makeStop('halt', { code, counters }),
  message: '',
  enforced: true,
  task: 't',
  ...said,
});

const counted = (actual: number): Line => ({
  type: 'failure-counted',
  name: 'search',
  error: 'E',
  actual,
  limit: 5,
  breaker: key,
});

const opened = (cause = 'failures', untilMs = 60_000): Line => ({
  type: 'breaker-opened',
  key,
  name: 'search',
  generation: 2,
  cause,
  untilMs,
  counters: {},
});

const moved = (
  type: 'breaker-half-opened' | 'breaker-closed' | 'breaker-reset' | 'breaker-held' | 'breaker-released',
): Line => ({ type, key, name: 'search', generation: 3 });

const refused = (atMs: number, verdict: Verdict = makeStop('deny'), breaker: string | null = key): Line => ({
  type: 'action-refused',
  action: makeAction(),
  decision: { verdict, votes: [] },
  message: '',
  enforced: true,
  atMs,
  ...(breaker !== null && { breaker }),
});

test('replay confirms a halt if its counters exceed the limit', () => {
  const loop = { ...defaultSettings.loop, windowSize: 3, refusedRepeats: 2 };
  const delegation = { ...defaultSettings.delegation, maxFailures: 2, workerLimits: { chef: 4 } };
  const task = makeLimits({
    maxToolCalls: 5,
    maxSpendCents: 6,
    maxTokens: 7,
    maxDurationSecs: 8,
    maxIdleSecs: 9,
    maxDenials: 3,
  });
  const rows: readonly [code: Code, last: number, counters?: Counters][] = [
    ['tool_call_limit', 5],
    ['token_spend_limit', 6],
    ['token_limit', 7],
    ['duration_limit', 7],
    ['idle_timeout', 8],
    ['denial_limit', 2],
    ['output_loop', 2],
    ['tool_loop', 2],
    ['delegation_limit', 1, { worker: 'cook' }],
    ['delegation_limit', 3, { worker: 'chef' }],
  ];
  for (const [code, last, counters] of rows) {
    const at = (actual: number) => repeated([halted(code, { actual, ...counters })], { task, loop, delegation });
    assert.deepEqual(at(last), { decisions: 1, differences: [`1 ${code}: none`] });
    assert.deepEqual(at(last + 1), { decisions: 1, differences: [] });
  }
  const ends = { ...delegation, onFailure: 'end' } as const;
  const first = halted('delegation_limit', { actual: 1, worker: 'cook' });
  assert.deepEqual(repeated([first], { delegation: ends }), { decisions: 1, differences: [] });
});

test('replay compares a halt by a shared budget with the budgets of the same scope and unit', () => {
  const budgets: Settings['budgets'] = [
    { scope: 'agent', unit: 'calls', limit: 5 },
    { scope: 'agent', unit: 'tokens', limit: 100 },
    { scope: 'session', unit: 'spend_cents', limit: 3 },
  ];
  const rows: readonly [code: Code, scope: string, last: number][] = [
    ['tool_call_limit', 'agent', 5],
    ['token_limit', 'agent', 100],
    ['token_spend_limit', 'session', 3],
    ['tool_call_limit', 'session', 1e6],
    ['tool_call_limit', 'project', 1e6],
  ];
  for (const [code, scope, last] of rows) {
    const at = (actual: number) => repeated([halted(code, { actual, scope })], { budgets });
    assert.deepEqual(at(last), { decisions: 1, differences: [`1 ${code}: none`] }, `${scope} ${code}`);
    if (last < 1e6) assert.deepEqual(at(last + 1), { decisions: 1, differences: [] }, `${scope} ${code}`);
  }
});

test('replay skips halts that do not depend on counters or that another halt caused', () => {
  const none = { decisions: 0, differences: [] };
  assert.deepEqual(repeated([halted('token_spend_limit', { actual: 'unknown' })]), none);
  assert.deepEqual(repeated([halted('rule_abort', { actual: 1 })]), none);
  assert.deepEqual(repeated([halted('tool_call_limit', { actual: 1 }, { cause: 'boss' })]), none);
  const uncapped = repeated([halted('token_limit', { actual: 1e15 })]);
  assert.deepEqual(uncapped, { decisions: 1, differences: ['1 token_limit: none'] });
});

test('replay compares a task with the limits at its start', () => {
  const start: Line = { type: 'task-started', task: 't', limits: makeLimits({ maxToolCalls: 2 }) };
  const lines = [
    start,
    halted('tool_call_limit', { actual: 3 }),
    halted('tool_call_limit', { actual: 3 }, { task: 'u' }),
  ];
  assert.deepEqual(repeated(lines), { decisions: 2, differences: ['3 tool_call_limit: none'] });
});

test('replay confirms a trip by failures if the count reached the threshold, and accepts other causes', () => {
  assert.deepEqual(repeated([counted(4), opened()]), { decisions: 1, differences: ['2 trip: none'] });
  assert.deepEqual(repeated([counted(5), opened()]), { decisions: 1, differences: [] });
  assert.deepEqual(repeated([opened('a failed probe')]), { decisions: 0, differences: [] });
  const { breaker: _, ...elsewhere } = counted(9);
  assert.deepEqual(repeated([elsewhere as Line, opened()]).differences, ['2 trip: none']);
});

test('replay uses the tuned settings of a breaker, or those that options.breakerSettings returns', () => {
  const tuned = (overrides: Readonly<Record<string, unknown>>): Line => ({
    type: 'breaker-tuned',
    name: 'search',
    overrides,
  });
  const lines = [tuned({ failureThreshold: 9 }), tuned({ failureThreshold: 2 }), tuned({ windowCalls: 9 })];
  assert.deepEqual(repeated([...lines, counted(2), opened()]).differences, []);
  assert.deepEqual(repeated([...lines, counted(1), opened()]).differences, ['5 trip: none']);
  const asked: unknown[] = [];
  const breakerSettings: ReplayOptions['breakerSettings'] = (...said) => {
    asked.push(...said);
    return { ...defaultSettings.circuitBreaker, failureThreshold: 3 };
  };
  const found = repeated([...lines, counted(3), opened()], {}, { breakerSettings });
  assert.deepEqual(found, { decisions: 1, differences: [] });
  assert.deepEqual(asked, ['search', 'ann', { failureThreshold: 2, windowCalls: 9 }]);
});

test('replay confirms a refusal only while the breaker is open, half-open or held', () => {
  const wrong = (seq: number) => [`${seq} deny circuit_open: none`];
  const rows: readonly [what: string, lines: readonly Line[], differences: readonly string[]][] = [
    ['nothing opened it', [refused(0)], wrong(1)],
    ['before its time', [opened('x', 100), refused(99)], []],
    ['at its time', [opened('x', 100), refused(100)], wrong(2)],
    ['open until a hand', [opened('x', -1), refused(1e12)], []],
    ['while it is probed', [opened('x', 100), moved('breaker-half-opened'), refused(500)], []],
    ['once it closed', [opened('x', 100), moved('breaker-closed'), refused(50)], wrong(3)],
    ['once it was reset', [opened('x', 100), moved('breaker-reset'), refused(50)], wrong(3)],
    ['while it is held', [moved('breaker-held'), refused(0)], []],
    ['once it was released', [moved('breaker-held'), moved('breaker-released'), refused(0)], wrong(3)],
  ];
  for (const [what, lines, differences] of rows) {
    assert.deepEqual(repeated(lines), { decisions: 1, differences }, what);
  }
});

test('replay skips refusals by other controls and calls without a breaker', () => {
  const none = { decisions: 0, differences: [] };
  assert.deepEqual(repeated([refused(0, makeStop('deny', { code: 'storm' }))]), none);
  assert.deepEqual(repeated([refused(0, allow)]), none);
  assert.deepEqual(repeated([refused(0, makeStop('deny'), null)]), none);
  assert.deepEqual(repeated([{ type: 'task-ended', how: 'done' }]), none);
});
