/**
 * Random events through the reducers, sensible or not: `npm run fuzz -- [--events N] [--seed S]`.
 * Nothing throws, no number goes wrong, and the state does not grow.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Action, Outcome, Permit } from '../src/core/action.ts';
import { breakerMetrics } from '../src/core/controls/breaker/metrics.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../src/core/controls/breaker/phases.ts';
import { type BreakerState, initialBreaker } from '../src/core/controls/breaker/state.ts';
import {
  bindBreaker,
  bindDelegations,
  bindTaskControls,
  createTaskControls,
  initialTaskCells,
} from '../src/core/controls/panel.ts';
import { rulesControl } from '../src/core/controls/rules/control.ts';
import { parseRule } from '../src/core/controls/rules/rule.ts';
import { countEvent, initialStorm } from '../src/core/controls/storm.ts';
import { applyAll, type BoundControl, checkAll, decide, type Panel } from '../src/core/decide.ts';
import type { ControlEvent } from '../src/core/event.ts';
import type { BreakerSettings } from '../src/core/settings.ts';
import type { Code, Verdict } from '../src/core/verdict.ts';
import { checkPolicy } from '../src/policy/check/check-policy.ts';
import { type Random, random } from './simulation/random.ts';

export interface Fuzzed {
  readonly events: number;
  readonly reached: ReadonlySet<Code>;
  /** Characters of the whole state as JSON: the most that was seen. */
  readonly stateSize: number;
}

/** Characters of state that the panels below may have, ever. */
const stateSizeMax = 60_000;
const lookEvery = 5_000;
const { settings } = checkPolicy({});
const rules = ['ability:b|confirm', 'amount>1|abort', 'frequency>20/1m|throttle', 'ability:c|throttle'].flatMap(
  (line) => parseRule(line).rule ?? [],
);

interface Testbed {
  readonly panel: Panel;
  readonly breaker: { readonly state: BreakerState };
  readonly settings: BreakerSettings;
  readonly out: Permit[];
}

/** One panel of every control per kind of breaker. */
function createTestbeds(): readonly Testbed[] {
  const kinds: readonly Partial<BreakerSettings>[] = [
    {},
    { maxConcurrent: 3, halfOpenPermits: 3 },
    { trip: 'count_window', windowCalls: 40, rateWindow: 'calls', failureRateThreshold: 0.7 },
    { trip: 'time_window', monitorWindowSecs: 20, slowCallSecs: 2, slowRateThreshold: 0.6, minimumCalls: 4 },
    { trip: 'cumulative', sameErrorOnly: true, leaseExpiry: 'neutral', recoveryFactor: 3, recoveryJitter: 0.3 },
    { openOnRetryAfter: true, recovery: 'manual', mode: 'observe' },
    { mode: 'off' },
  ];
  return kinds.map((more, at) => {
    const breakerSettings = { ...settings.circuitBreaker, recoveryTimeoutSecs: 5, ...more };
    const breaker = { state: initialBreaker(breakerSettings) };
    const limits = { ...settings.task, maxTokens: 1e9, maxToolCalls: 2_000 };
    // A task that has run too long is never found silent: every other one may run for ever.
    const controls = createTaskControls(settings, at % 2 === 0 ? limits : { ...limits, maxDurationSecs: 1e12 });
    const parent = { id: 'parent', controls, cells: initialTaskCells(controls, 0), parent: undefined };
    const task = { id: 'task', controls, cells: initialTaskCells(controls, 0), parent };
    const ruled = rulesControl(rules, settings.ruleSettings);
    const worker = { ...settings.delegation, tools: true, resetAfterSecs: 30, backoff: true };
    const panel: Panel = [
      bindBreaker(breakerSettings, breaker),
      { control: ruled, cell: { state: ruled.initial(0) }, cellOwner: 'self' } as unknown as BoundControl,
      ...bindDelegations(worker, 'worker', (control) => ({
        control,
        cell: { state: control.initial(0) },
        cellOwner: 'self',
      })),
      ...bindTaskControls(task),
    ];
    return { panel, breaker, settings: breakerSettings, out: [] };
  });
}

export function fuzz(events: number, seed: number): Fuzzed {
  const chance = random(seed);
  const all = createTestbeds();
  const storm = { state: initialStorm(0), settings: { maxEvents: 12, windowSecs: 10 } };
  const reached = new Set<Code>();
  const note = (verdict: Verdict) => {
    if (verdict.kind !== 'allow') reached.add(verdict.code);
  };
  let atMs = 0;
  let stateSize = 0;

  for (let count = 1; count <= events; count++) {
    // Store time never goes back; now and then it leaps.
    if (chance.chance(0.3)) atMs += chance.whole(0, 900);
    if (chance.chance(0.0005)) {
      atMs += chance.whole(0, 100_000_000);
      for (const { panel } of all) sweep(panel);
    }
    const bench = all[count % all.length]!;
    if (chance.chance(0.4)) propose(bench, count);
    else if (chance.chance(0.6)) tell(bench, randomPermitEvent(chance, bench, atMs));
    else if (chance.chance(0.9)) tell(bench, randomTaskEvent(chance, atMs));
    else operatorEvent(chance, bench, atMs);
    if (chance.chance(0.1)) note(countEvent(storm.state, storm.settings, atMs));
    if (storm.state.tripped && chance.chance(0.01)) storm.state = initialStorm(atMs);
    if (count % lookEvery !== 0 && count !== events) continue;
    for (const { panel, breaker, settings: of } of all) {
      checkPlain(breakerMetrics(breaker.state, of, settings.alerts, atMs), 'metrics');
      for (const { control, cell } of panel) {
        checkPlain(cell.state, control.name);
        checkPlain(control.gauges?.(cell.state, atMs), `${control.name} gauges`);
      }
    }
    const size = JSON.stringify([all.map(({ panel }) => panel.map(({ cell }) => cell.state)), storm.state]).length;
    if (size > stateSizeMax) throw new Error(`the state has grown to ${size} characters after ${count} events`);
    stateSize = Math.max(stateSize, size);
  }
  return { events, reached, stateSize };

  function propose(bench: Testbed, id: number): void {
    const { panel, breaker, out } = bench;
    const action = randomAction(chance, id);
    const before = breaker.state.probes.length;
    const { generation } = breaker.state;
    const { verdict, votes } = decide(panel, { type: 'action-proposed', atMs, action });
    for (const vote of votes) note(vote.verdict);
    // Sometimes the host does not do as it was told.
    const done: Verdict = chance.chance(0.1) ? { kind: 'allow' } : verdict;
    applyAll(panel, { type: 'action-decided', atMs, action, verdict: done });
    if (done.kind !== 'allow') return;
    const { state } = breaker;
    const probe = state.phase === 'half-open' && (state.generation !== generation || state.probes.length > before);
    if (out.length >= 64) out.splice(chance.whole(0, 63), 1); // A settlement that never comes.
    out.push({ action, atMs, generation: state.generation, probe });
  }

  function tell({ panel }: Testbed, event: ControlEvent): void {
    applyAll(panel, event);
    sweep(panel);
  }

  function sweep(panel: Panel): void {
    for (const { control, cell } of panel) note(control.check?.(cell.state, atMs) ?? { kind: 'allow' });
    note(checkAll(panel, atMs));
  }
}

const names = ['a', 'b', 'c', '__proto__'];

function randomAction(chance: Random, id: number): Action {
  const hit = chance.chance(0.05) ? { hits: [{ rule: chance.pick(rules).id, seen: 'seen' }] } : {};
  return {
    id: chance.chance(0.01) ? 'again' : id,
    kind: chance.pick(['tool', 'tool', 'model', 'delegation', 'step']),
    name: chance.pick(names),
    agent: 'ann',
    session: 's',
    task: `task-${chance.whole(1, 3)}`,
    fingerprint: chance.whole(-2, 40),
    worstMicros: chance.pick([0, 0, 1, 10_000, 1e16]),
    worstTokens: chance.pick([0, 1, 100, 1e12]),
    patienceMs: chance.pick([0, 1000, 600_000]),
    ...(chance.chance(0.2) ? { turnId: `${chance.whole(1, 3)}` } : {}),
    ...(chance.chance(0.1) ? { approvedBy: 'someone' } : {}),
    ...hit,
  };
}

function randomOutcome(chance: Random, atMs: number): Outcome {
  const kind = chance.pick(['success', 'failure', 'failure', 'neutral'] as const);
  if (kind === 'success') return { kind };
  if (kind === 'neutral') return { kind, why: 'cancelled' };
  const error = { kind, error: 'ToolError', errorFingerprint: chance.whole(0, 2) };
  return chance.chance(0.1) ? { ...error, retryAtMs: atMs + chance.whole(-1000, 90_000) } : error;
}

/** About a call that is out, or was, or never was. */
function randomPermitEvent(chance: Random, { out }: Testbed, atMs: number): ControlEvent {
  const at = chance.whole(0, Math.max(0, out.length - 1));
  const stranger = {
    action: randomAction(chance, -1),
    atMs: 0,
    generation: chance.whole(0, 5),
    probe: chance.chance(0.5),
  };
  const permit = chance.chance(0.05) ? stranger : (out[at] ?? stranger);
  const type = chance.pick([
    'action-settled',
    'action-settled',
    'action-settled',
    'permit-renewed',
    'work-ended',
  ] as const);
  if (type !== 'action-settled') return { type, atMs, permit };
  if (!chance.chance(0.1)) out.splice(at, 1); // Else it may be settled again.
  return {
    type,
    atMs,
    permit,
    outcome: randomOutcome(chance, atMs),
    ...(chance.chance(0.3) ? { cost: { micros: chance.pick([0, 5, 1e12]), tokens: chance.pick([0, 7, 1e9]) } } : {}),
    ...(chance.chance(0.05) ? { resultHits: [{ rule: chance.pick(rules).id, seen: 'seen' }] } : {}),
    ...(chance.chance(0.05) ? { stillRuns: true } : {}),
  };
}

function randomTaskEvent(chance: Random, atMs: number): ControlEvent {
  const events: readonly ControlEvent[] = [
    { type: 'text-observed', atMs, similarity: chance.pick([-1, 0, 0.95, 1]) },
    { type: 'usage-observed', atMs, cost: { micros: chance.whole(0, 1e9), tokens: chance.whole(0, 1e6) } },
    { type: 'call-observed', atMs, name: 'x' },
    { type: 'user-observed', atMs },
    { type: 'sign-observed', atMs },
    { type: 'task-stopped', atMs },
    { type: 'task-resumed', atMs },
    { type: 'task-resumed', atMs },
    { type: 'delegation-returned', atMs, worker: chance.pick(names), failed: chance.chance(0.5), reason: 'no' },
  ];
  return chance.pick(events);
}

function operatorEvent(chance: Random, { breaker, settings: of }: Testbed, atMs: number): void {
  const { state } = breaker;
  const what = chance.pick(['open', 'reset', 'hold', 'release', 'release', 'half-open']);
  if (what === 'open') openBreaker(state, of, atMs, 'a trip by hand', chance.pick([undefined, 0, atMs + 1000]));
  if (what === 'reset') resetBreaker(state);
  if (what === 'hold') state.heldAtMs = atMs;
  if (what === 'release') state.heldAtMs = -1;
  if (what === 'half-open' && state.phase === 'open') halfOpenBreaker(state, atMs);
}

/** Times that may be "none", and numbers that are bits. */
const mayBeNegative = new Set([
  'heldAtMs',
  'openUntilMs',
  'retryAtMs',
  'fingerprint',
  'runError',
  'ring',
  'call',
  'exact',
  'loose',
  'total',
  'trend',
]);

function checkPlain(value: unknown, where: string): void {
  if (typeof value === 'number' && !(value >= 0)) throw new Error(`${where} is ${value}`);
  if (typeof value !== 'object' || value === null) return;
  for (const key in value) {
    if (!mayBeNegative.has(key)) checkPlain((value as Record<string, unknown>)[key], `${where}.${key}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { events: { type: 'string', default: '10000000' }, seed: { type: 'string', default: '1' } },
  });
  const startedMs = performance.now();
  fuzz(100_000, Number(values.seed));
  const heapBefore = process.memoryUsage().heapUsed;
  const { events, reached, stateSize } = fuzz(Number(values.events), Number(values.seed));
  const grownMb = (process.memoryUsage().heapUsed - heapBefore) / 1_048_576;
  const secs = Math.round((performance.now() - startedMs) / 100) / 10;
  console.log(
    `${events} events in ${secs} s; state: at most ${stateSize} characters; the heap grew ${grownMb.toFixed(1)} MB`,
  );
  console.log(`reasons reached: ${[...reached].sort().join(', ')}`);
  if (grownMb > 64) throw new Error('the heap has grown: something is kept that should not be');
}
