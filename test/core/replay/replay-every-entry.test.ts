/** Journals of level `all`, written by hand line by line: what a replay makes of each kind of line. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Action, cancelled, type Outcome, success } from '../../../src/core/action.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import type { Entry, EntryBody, EntryPlace } from '../../../src/core/event.ts';
import { replay } from '../../../src/core/replay/replay.ts';
import type { ReplayOptions } from '../../../src/core/replay/state.ts';
import type { BreakerSettings, Settings, TaskSettings } from '../../../src/core/settings.ts';
import type { Stop, Verdict } from '../../../src/core/verdict.ts';
import { makeAction, makeLimits, makeStop } from '../../harness/control-story.ts';

type Line = EntryBody & EntryPlace & { readonly atMs: number };
type Refused = Extract<EntryBody, { type: 'action-refused' }>;

const breaker = 'k';
const failure: Outcome = { kind: 'failure', error: 'E', errorFingerprint: 0 };
const open = makeStop('deny');
const fast: Partial<BreakerSettings> = { failureThreshold: 1, successThreshold: 1 };

function replayed(lines: readonly Line[], said: Partial<Settings> = {}, options: ReplayOptions = {}) {
  const entries = lines.map((line, at) => ({ seq: at + 1, wallMs: 0, ...line }) as Entry);
  const settings: Settings = {
    ...defaultSettings,
    circuitBreaker: { ...defaultSettings.circuitBreaker, ...fast },
    journal: { level: 'all', content: 'none' },
    ...said,
  };
  const { decisions, differences } = replay(entries, settings, options);
  return { decisions, differences: differences.map(({ seq, expected, got }) => `${seq} ${expected}: ${got}`) };
}

const allowed = (atMs: number, said: Partial<Action> = {}, probe = false): Line => ({
  type: 'action-allowed',
  atMs,
  action: makeAction(said),
  probe,
  breaker,
});

const refused = (
  atMs: number,
  verdict: Verdict = open,
  said: Partial<Action> = {},
  more: Partial<Refused> = {},
): Line => ({
  type: 'action-refused',
  atMs,
  action: makeAction(said),
  decision: { verdict, votes: [] },
  message: '',
  enforced: true,
  breaker,
  ...more,
});

const settled = (
  atMs: number,
  outcome: Outcome,
  said: Partial<Action> & { readonly generation?: number; readonly probe?: boolean } = {},
  more: Partial<Extract<EntryBody, { type: 'action-settled' }>> = {},
): Line => {
  const { generation = 1, probe = false, ...action } = said;
  const permit = { action: makeAction(action), atMs: 0, generation, probe };
  return { type: 'action-settled', atMs, permit, outcome, durationMs: 0, breaker, ...more };
};

const opened = (atMs: number, generation: number, cause = 'failures', untilMs = 60_000): Line => ({
  type: 'breaker-opened',
  atMs,
  key: breaker,
  name: 'search',
  generation,
  cause,
  untilMs,
  counters: {},
});

const byHand = (type: 'breaker-reset' | 'breaker-held' | 'breaker-released', atMs: number): Line => ({
  type,
  atMs,
  key: breaker,
  name: 'search',
  generation: 2,
});

const started = (limits: Partial<TaskSettings> = {}, place: { task?: string; parent?: string } = {}): Line => ({
  type: 'task-started',
  atMs: 0,
  task: 't',
  limits: makeLimits(limits),
  ...place,
});

const halted = (atMs: number, stop: Stop, more: { task?: string; cause?: string } = {}): Line => ({
  type: 'task-halted',
  atMs,
  stop,
  message: '',
  enforced: true,
  task: 't',
  ...more,
});

const halt = (code: Stop['code'], said: Partial<Stop> = {}) => makeStop('halt', { code, control: 'x', ...said });
const word = (atMs: number): Line => ({ type: 'text-observed', atMs, similarity: 1, task: 't' });
const tripped = [allowed(0), settled(0, failure), opened(0, 2)];

test('replay counts no lines in an empty journal, and ends at the last line or a policy change', () => {
  const all = { ...defaultSettings, journal: { level: 'all', content: 'none' } } as const;
  assert.deepEqual(replay([], all), { decisions: 0, differences: [], lastSeq: 0 });
  const line = (seq: number, said: Line) => ({ seq, wallMs: 0, ...said }) as Entry;
  const reload = line(8, { type: 'policy-reloaded', atMs: 0, changed: [] });
  assert.deepEqual(replay([line(7, refused(0))], all).lastSeq, 7);
  const cut = replay([reload, line(9, refused(0))], all);
  assert.deepEqual(cut, { decisions: 0, differences: [], lastSeq: 8 });
  const before = replay([line(6, allowed(0)), line(7, allowed(0)), reload, line(9, refused(0))], all);
  assert.deepEqual(before, { decisions: 2, differences: [], lastSeq: 8 });
});

test('replay follows the phases of a breaker, and reports a call wrongly marked as a probe', () => {
  const lines = [...tripped, refused(59_999), allowed(60_000, { id: 2 }, true)];
  assert.deepEqual(replayed(lines), { decisions: 4, differences: [] });
  const lie = [...tripped, allowed(60_000, { id: 2 }, false)];
  assert.deepEqual(replayed(lie).differences, ['4 allow: allow as a probe']);
  const early = [...tripped, allowed(59_999, { id: 2 }, true)];
  assert.deepEqual(replayed(early).differences, ['4 allow as a probe: deny circuit_open']);
  assert.deepEqual(replayed([allowed(0, {}, true)]).differences, ['1 allow as a probe: allow']);
  const closed = [
    ...lines,
    settled(60_001, success, { id: 2, generation: 3, probe: true }),
    allowed(60_002, { id: 3 }),
  ];
  assert.deepEqual(replayed(closed), { decisions: 5, differences: [] });
});

test('replay accepts a second probe if halfOpenPermits is 2', () => {
  const circuitBreaker = { ...defaultSettings.circuitBreaker, ...fast, halfOpenPermits: 2 };
  const lines = [...tripped, allowed(60_000, { id: 2 }, true), allowed(60_001, { id: 3 }, true), refused(60_002)];
  assert.deepEqual(replayed(lines, { circuitBreaker }), { decisions: 5, differences: [] });
});

test('replay reports a breaker opening without a cause in the journal', () => {
  assert.deepEqual(replayed([opened(0, 2)]), { decisions: 1, differences: ['1 generation 2: none'] });
  assert.deepEqual(replayed([opened(0, 2), allowed(0)]), {
    decisions: 2,
    differences: ['1 generation 2: generation 1'],
  });
  const lost = [...tripped, allowed(60_000, { id: 2 }, true), opened(75_000, 4), refused(75_000)];
  assert.deepEqual(replayed(lost), { decisions: 5, differences: [] });
});

test('replay repeats the changes that people and health checks make to a breaker', () => {
  const hand = opened(0, 2, 'a trip by hand', 90_000);
  assert.deepEqual(replayed([hand, refused(89_999), allowed(90_000, {}, true)]), { decisions: 3, differences: [] });
  const healthy = (of: boolean): Line => ({
    type: 'health-checked',
    atMs: 10,
    key: breaker,
    name: 'search',
    healthy: of,
  });
  assert.deepEqual(replayed([...tripped, healthy(true), allowed(11, { id: 2 }, true)]).differences, []);
  assert.deepEqual(replayed([...tripped, healthy(false), refused(11)]).differences, []);
  assert.deepEqual(replayed([allowed(0), healthy(true), allowed(11)]).differences, []);
  assert.deepEqual(replayed([...tripped, byHand('breaker-reset', 1), allowed(2)]).differences, []);
  assert.deepEqual(replayed([byHand('breaker-held', 0), refused(1)]).differences, []);
  const released = [byHand('breaker-held', 0), byHand('breaker-released', 1), allowed(2)];
  assert.deepEqual(replayed(released).differences, []);
  const tuned: Line = { type: 'breaker-tuned', atMs: 0, name: 'search', overrides: { failureThreshold: 2 } };
  assert.deepEqual(replayed([tuned, allowed(0), settled(0, failure), allowed(1, { id: 2 })]).differences, []);
});

test('replay frees a slot when the work ends, and extends a renewed lease', () => {
  const circuitBreaker = { ...defaultSettings.circuitBreaker, ...fast, maxConcurrent: 1 };
  const permit = { action: makeAction(), atMs: 0, generation: 1, probe: false };
  const busy = refused(1, makeStop('deny', { code: 'concurrency_limit' }));
  const ended: Line = { type: 'work-ended', atMs: 2, permit, breaker };
  const given = [allowed(0), settled(1, cancelled, {}, { stillRuns: true }), busy];
  assert.deepEqual(replayed([...given, ended, allowed(3)], { circuitBreaker }), { decisions: 3, differences: [] });

  const probe = { action: makeAction({ id: 2 }), atMs: 60_000, generation: 3, probe: true };
  const renewed: Line = { type: 'permit-renewed', atMs: 70_000, permit: probe, breaker };
  const late = settled(81_000, success, { id: 2, generation: 3, probe: true });
  const lines = [...tripped, allowed(60_000, { id: 2 }, true), renewed, refused(80_000), late, allowed(81_001)];
  assert.deepEqual(replayed(lines), { decisions: 5, differences: [] });
});

test('replay refuses every later call of a halted task with the code of the halt', () => {
  const over = halt('tool_call_limit');
  const call = { task: 't' };
  const lines = [started({ maxToolCalls: 1 }), allowed(0, call), refused(1, over, call), halted(1, over)];
  assert.deepEqual(replayed([...lines, refused(2, over, call)]), { decisions: 4, differences: [] });
  assert.deepEqual(replayed([...lines, allowed(2, call)]).differences, ['5 allow: halt tool_call_limit']);
  assert.deepEqual(replayed(lines.slice(0, 3)).differences, ['3 none: halt tool_call_limit of t']);
  assert.deepEqual(replayed([started(), halted(1, over)]), { decisions: 1, differences: ['2 tool_call_limit: none'] });
});

test('replay accepts halts by an operator, by an unknown price or by the halt of another task', () => {
  const operator = halt('internal_error', { control: 'operator' });
  const price = halt('token_spend_limit', { counters: { actual: 'unknown' } });
  for (const stop of [operator, price]) {
    const lines = [started(), halted(1, stop), refused(2, stop, { task: 't' })];
    assert.deepEqual(replayed(lines), { decisions: 2, differences: [] });
  }
  const none = { decisions: 0, differences: [] };
  assert.deepEqual(replayed([started(), halted(1, operator, { cause: 'boss' })]), none);
  assert.deepEqual(replayed([halted(1, operator)]), none);
});

test('replay repeats halts caused by output, usage, observed calls and duration', () => {
  const seen = { atMs: 1, task: 't' };
  const cost = { micros: 0, tokens: 9 };
  const rows: readonly [code: Stop['code'], limits: Partial<TaskSettings>, told: readonly Line[]][] = [
    ['output_loop', {}, [word(1), word(1)]],
    ['token_limit', { maxTokens: 8 }, [{ type: 'usage-observed', model: 'm', basis: 'b', cost, ...seen }]],
    ['tool_call_limit', { maxToolCalls: 1 }, [1, 2].map(() => ({ type: 'call-observed', name: 'x', ...seen }))],
    ['token_limit', { maxTokens: 8 }, [settled(1, success, { task: 't' }, { cost })]],
    ['duration_limit', { maxDurationSecs: 1 }, [{ type: 'sign-observed', atMs: 1_001, task: 't' }]],
  ];
  for (const [code, limits, told] of rows) {
    const untold = replayed([started(limits), ...told]);
    assert.deepEqual(untold, { decisions: 1, differences: [`${told.length + 1} none: halt ${code} of t`] });
    assert.deepEqual(replayed([started(limits), ...told, halted(1, halt(code))]), { decisions: 1, differences: [] });
    assert.deepEqual(replayed(told), { decisions: 0, differences: [] }, 'of a task that nobody started');
    const over: Line = { type: 'task-ended', atMs: 0, how: 'done', task: 't' };
    assert.deepEqual(
      replayed([started(limits), over, ...told]),
      { decisions: 0, differences: [] },
      'of one that is over',
    );
  }
});

test('replay checks the idle time at the halt, without the time that the task was paused', () => {
  const silent = halt('idle_timeout');
  const stopped = (type: 'task-stopped' | 'task-resumed', atMs: number): Line => ({ type, atMs, task: 't' });
  assert.deepEqual(replayed([started({ maxIdleSecs: 1 }), halted(1_001, silent)]).differences, []);
  assert.deepEqual(replayed([started({ maxIdleSecs: 1 }), halted(1_000, silent)]).differences, [
    '2 idle_timeout: none',
  ]);
  const paused = [stopped('task-stopped', 500), halted(9_000, silent)];
  assert.deepEqual(replayed([started({ maxIdleSecs: 1 }), ...paused]).differences, ['3 idle_timeout: none']);
  const resumed = [stopped('task-stopped', 500), stopped('task-resumed', 600), halted(9_000, silent)];
  assert.deepEqual(replayed([started({ maxIdleSecs: 1 }), ...resumed]).differences, []);
  const person: Line = { type: 'user-observed', atMs: 2, task: 't' };
  assert.deepEqual(replayed([started(), word(1), person, word(3)]).differences, []);
});

test('replay checks limits after a failure or a fired output rule, and not after a free success', () => {
  const call = { task: 't' };
  const limits = { maxDurationSecs: 1 };
  const quiet = [started(limits), settled(1_001, success, call)];
  assert.deepEqual(replayed(quiet), { decisions: 0, differences: [] });
  const loud = [started(limits), settled(1_001, failure, call)];
  assert.deepEqual(replayed(loud).differences, ['2 none: halt duration_limit of t']);
  const rules = [{ target: 'tool:search', condition: 'output:result|contains:secret', action: 'abort' }] as const;
  const rule = 'tool:search|output:result|contains:secret|abort';
  const leaked = settled(1, success, call, { resultHits: [{ rule, seen: 'secret' }] });
  assert.deepEqual(replayed([started(), leaked], { rules }).differences, ['2 none: halt rule_abort of t']);
});

test('replay halts the root task after too many worker failures if the policy says so', () => {
  const returned = (failed: boolean, task = 'child'): Line => ({
    type: 'delegation-returned',
    atMs: 1,
    worker: 'cook',
    failed,
    reason: 'no',
    actual: 1,
    limit: 2,
    task,
    session: 's',
    agent: 'a',
  });
  const tree = [started(), started({}, { task: 'child', parent: 't' })];
  const halting = { delegation: { ...defaultSettings.delegation, onTrip: 'halt' } } as const;
  const differences = (...lines: readonly Line[]) => replayed(lines, halting).differences;
  assert.deepEqual(differences(...tree, returned(true)), []);
  assert.deepEqual(differences(...tree, returned(true), returned(false), returned(false)), []);
  const twice = [...tree, returned(true), returned(true)];
  assert.deepEqual(differences(...twice), ['4 none: halt delegation_limit of t']);
  assert.deepEqual(replayed(twice).differences, []);
  const again = refused(2, halt('delegation_limit'), { kind: 'delegation', name: 'cook', task: 'child' });
  assert.deepEqual(differences(...twice, halted(1, halt('delegation_limit')), again), []);
  const denied = refused(2, makeStop('deny', { code: 'delegation_limit' }), {
    kind: 'delegation',
    name: 'cook',
    task: 'child',
  });
  assert.deepEqual(replayed([...twice, denied]).differences, []);
  assert.deepEqual(differences(...twice, denied).length > 0, true);
  assert.deepEqual(differences(returned(true, 'stranger'), returned(true, 'stranger')), []);
});

test('replay compares a question or a wait, and takes the answer from the journal', () => {
  const rules = [{ target: 'tool:search', condition: 'amount>5', action: 'confirm' }] as const;
  const call = { task: 't', hits: [{ rule: 'tool:search|amount>5|confirm', seen: 'amount 6' }] };
  const ask = makeStop('ask', { code: 'rule_declined' });
  const decision = { verdict: ask, votes: [] };
  const asked: Line = { type: 'action-asked', atMs: 1, action: makeAction(call), decision, breaker };
  const declined = refused(2, makeStop('deny', { code: 'rule_unanswered' }), call, { after: 'ask' });
  assert.deepEqual(replayed([started(), asked], { rules }), { decisions: 1, differences: [] });
  assert.deepEqual(replayed([started(), asked]).differences, ['2 ask rule_declined: allow']);
  const waited: Line = { ...asked, type: 'action-waited' };
  assert.deepEqual(replayed([started(), waited]).differences, ['2 ask rule_declined: allow']);
  assert.deepEqual(replayed([started(), asked, declined], { rules }), { decisions: 1, differences: [] });
  const last = replayed([started({ maxDenials: 1 }), asked, declined], { rules });
  assert.deepEqual(last.differences, ['3 none: halt denial_limit of t']);
});

test('replay counts refused calls, and halts a task with too many', () => {
  const lines = [...tripped, started({ maxDenials: 1 }), refused(1, open, { task: 't' })];
  assert.deepEqual(replayed(lines).differences, ['5 none: halt denial_limit of t']);
});

test('in observe mode replay compares the refusals that would have happened, and lets the calls pass', () => {
  const would = (atMs: number) => refused(atMs, open, { id: 2 }, { enforced: false });
  const observing = { mode: 'observe' } as const;
  const passed = [...tripped, would(1), allowed(1, { id: 2 })];
  assert.deepEqual(replayed(passed, observing), { decisions: 3, differences: [] });
  assert.deepEqual(replayed([would(0)], observing).differences, ['1 deny circuit_open: allow']);
  // Told once, it is the next call that is judged again.
  assert.deepEqual(replayed([...passed, allowed(2, { id: 2 })], observing).differences, ['6 allow: deny circuit_open']);
  const other = [...tripped, would(1), allowed(1, { id: 3 })];
  assert.deepEqual(replayed(other, observing).differences, ['5 allow: deny circuit_open']);
  const told = [started(), word(1), word(1), halted(1, halt('output_loop')), word(2)];
  assert.deepEqual(replayed(told, {}, observing), { decisions: 1, differences: [] });
  assert.deepEqual(replayed(told, observing, { mode: 'enforce' }).decisions, 1);
  assert.deepEqual(replayed([...told, allowed(3, { task: 't' })], observing).differences, []);
  const enforced = replayed([...told, allowed(3, { task: 't' })], observing, { mode: 'enforce' });
  assert.deepEqual(enforced.differences, ['6 allow: halt output_loop']);
});

test('replay removes the breakers of a task when a new task uses the same id', () => {
  const key = 'x/task/t/search';
  const own = [allowed(0), settled(0, failure)].map((line) => ({ ...line, breaker: key }));
  const again = { ...allowed(1), breaker: key };
  assert.deepEqual(replayed([started(), ...own, again]).differences, ['4 allow: deny circuit_open']);
  assert.deepEqual(replayed([started(), ...own, started(), again]).differences, []);
});
