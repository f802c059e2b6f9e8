import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Control } from '../../../src/core/control.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { parseRuleText } from '../../../src/core/controls/rules/rule.ts';
import type { Entry } from '../../../src/core/event.ts';
import {
  agentInKey,
  breakerSettingsResolver,
  createReplayState,
  type ReplayOptions,
} from '../../../src/core/replay/state.ts';
import type { BreakerSettings } from '../../../src/core/settings.ts';
import { makeAction, makeLimits } from '../../harness/control-story.ts';

const rule = { target: '*', condition: 'amount>5', action: 'abort' } as const;
const own = (name: string, scope: Control['scope']) =>
  ({ name, scope, initial: () => ({ of: name }) }) as unknown as Control<never>;

function begun(options: ReplayOptions = {}, said = {}) {
  const state = createReplayState({ ...defaultSettings, ...said }, options);
  const start = { seq: 1, atMs: 0, wallMs: 0, type: 'task-started', task: 't', limits: makeLimits() };
  state.tasks.start(start as Extract<Entry, { type: 'task-started' }>);
  const boundControls = (...of: Parameters<typeof state.panelFor>) => state.panelFor(...of);
  return {
    state,
    boundControls,
    names: (...of: Parameters<typeof boundControls>) => boundControls(...of).map(({ control }) => control.name),
  };
}

test('replay judges a call in the order of the guard: breaker, rules, custom controls, worker, task', () => {
  const controls = [own('by target', 'target'), own('by task', 'task'), own('by chain', 'chain'), own('all', 'gear')];
  const { names } = begun({ controls }, { rules: [rule] });
  const task = ['budget', 'deadline', 'loop', 'denials', 'by task', 'by chain'];
  const outside = ['breaker', 'rules', 'by target', 'all'];
  assert.deepEqual(names(makeAction({ task: 't' }), 'k'), [...outside, ...task]);
  assert.deepEqual(names(makeAction({ task: 't', kind: 'delegation' }), 'k'), [...outside, 'delegation', ...task]);
  assert.deepEqual(names(makeAction({ task: 'stranger', kind: 'delegation' }), undefined), [
    ...outside.slice(1),
    'delegation',
  ]);
  assert.deepEqual(begun().names(makeAction(), undefined), []);
});

test('replay uses the rules of the policy, unless its options list the rules', () => {
  const written = parseRuleText(rule).rule!;
  assert.deepEqual(begun({ rules: [written] }).names(makeAction(), undefined), ['rules']);
  assert.deepEqual(begun({ rules: [] }, { rules: [rule] }).names(makeAction(), undefined), []);
});

test('each scope has its own cells, and a second lookup returns the same cell', () => {
  const controls = [own('target', 'target'), own('session', 'session'), own('gear', 'gear')];
  const { boundControls } = begun({ controls });
  const cells = (said: Parameters<typeof makeAction>[0]) =>
    boundControls(makeAction(said), undefined).map(({ cell }) => cell);
  assert.deepEqual([...new Set(boundControls(makeAction(), undefined).map(({ cellOwner }) => cellOwner))], ['self']);
  const [target, session, gear] = cells({});
  assert.deepEqual(target?.state, { of: 'target' });
  assert.deepEqual(
    cells({}).map((cell, at) => cell === [target, session, gear][at]),
    [true, true, true],
  );
  const other = cells({ name: 'other', session: 'other' });
  assert.deepEqual([other[0] === target, other[1] === session, other[2] === gear], [false, false, true]);
  assert.equal(cells({ name: 'other' })[1], session);
  assert.equal(cells({ session: 'other' })[0], target);
});

test('the scope of a budget decides if one agent, one session or all share the budget', () => {
  const budgets = (['agent', 'session', 'global'] as const).map((scope) => ({ scope, unit: 'calls', limit: 9 }));
  const { boundControls } = begun({}, { budgets });
  const cells = (agent: string, session: string) =>
    boundControls(makeAction({ agent, session }), undefined).map(({ cell }) => cell);
  const first = cells('ann', 's');
  const shared = (agent: string, session: string) => cells(agent, session).map((cell, at) => cell === first[at]);
  assert.equal(new Set(first).size, 3);
  assert.deepEqual(shared('ann', 's'), [true, true, true]);
  assert.deepEqual(shared('bob', 's'), [false, true, true]);
  assert.deepEqual(shared('ann', 'u'), [true, false, true]);
});

test('the failures of a worker are counted by session and name', () => {
  const { boundControls } = begun();
  const cell = (name: string, session: string) =>
    boundControls(makeAction({ task: 't', kind: 'delegation', name, session }), undefined)[0]?.cell;
  assert.equal(cell('cook', 's'), cell('cook', 's'));
  assert.notEqual(cell('cook', 's'), cell('chef', 's'));
  assert.notEqual(cell('cook', 's'), cell('cook', 'u'));
});

test('a breaker is created at its first use, and later tuning changes its settings', () => {
  const { state, boundControls } = begun();
  assert.equal(state.findBreaker('k'), undefined);
  const [bound] = boundControls(makeAction(), 'k');
  assert.equal(state.findBreaker('k'), bound?.cell.state);
  assert.equal(boundControls(makeAction(), 'k')[0]?.cell, bound?.cell);
  const seen: number[][] = [];
  const look = () => state.changeBreaker('k', 'search', (_, of) => seen.push([of.failureThreshold, of.windowCalls]));
  look();
  state.tune('search', { failureThreshold: 2 });
  state.tune('search', { windowCalls: 7 });
  state.tune('other', { failureThreshold: 9 });
  look();
  assert.deepEqual(seen, [
    [5, 100],
    [2, 7],
  ]);
  state.changeBreaker('new', 'search', (breaker) => {
    breaker.heldAtMs = 4;
  });
  assert.equal(state.findBreaker('new')?.heldAtMs, 4);
});

test('breaker settings are those of the policy with tuned values, or those of options.breakerSettings', () => {
  const plain = breakerSettingsResolver(defaultSettings, {});
  assert.deepEqual(plain('search', 'ann'), defaultSettings.circuitBreaker);
  assert.deepEqual(plain('search', 'ann', { windowCalls: 3 }), { ...defaultSettings.circuitBreaker, windowCalls: 3 });
  const resolved = { ...defaultSettings.circuitBreaker, windowCalls: 4 } satisfies BreakerSettings;
  assert.equal(
    breakerSettingsResolver(defaultSettings, { breakerSettings: () => resolved })('search', 'ann'),
    resolved,
  );
});

test('removing a task removes the breakers of the task and no other breaker', () => {
  const { state, boundControls } = begun();
  const keys = ['a/task/my%20task/search', 'a/task/other/search', 'a/agent/my%20task/search'];
  for (const key of keys) boundControls(makeAction(), key);
  state.dropTaskBreakers('my task');
  assert.deepEqual(
    keys.map((key) => state.findBreaker(key) !== undefined),
    [false, true, true],
  );
});

test('the name of an agent is read from the key of its breaker', () => {
  assert.equal(agentInKey('x/agent/ann%20b/search'), 'ann b');
  assert.equal(agentInKey('x/shared/search'), '');
});
