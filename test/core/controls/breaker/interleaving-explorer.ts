/**
 * Walks through everything that can happen to a breaker while calls overlap, and checks each step.
 * Times are taken relative to now and calls without their names, so that the worlds are finitely many:
 * once no step leads to a new one, every history of any length has been seen.
 */

import { cancelled, type Outcome, success } from '../../../../src/core/action.ts';
import {
  type AdmittedCall,
  countedFailures,
  countRefusal,
  endWork,
  judgeBreaker,
  recordAdmission,
  recordSettlement,
  renewProbe,
} from '../../../../src/core/controls/breaker/breaker.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../../../../src/core/controls/breaker/phases.ts';
import { exportBreaker, importBreaker } from '../../../../src/core/controls/breaker/saved.ts';
import { type BreakerState, initialBreaker } from '../../../../src/core/controls/breaker/state.ts';
import { bucketSums, countOverdue, saveWindows } from '../../../../src/core/controls/breaker/window.ts';
import { bucketsPerWindow } from '../../../../src/core/limits.ts';
import type { BreakerSettings } from '../../../../src/core/settings.ts';
import { failure } from './breaker-story.ts';

/** One call that is out. `settled` = given up while its work still runs. */
export interface Call {
  readonly admitted: AdmittedCall;
  settled: boolean;
}

export interface World {
  state: BreakerState;
  calls: Call[];
  nowMs: number;
  generation: number;
  /** When each failure that should count was seen, for the window of time. */
  failuresAtMs: number[];
}

/** What the explorer calls: the real machine, or one with a fault planted in it. */
export const machine = {
  judge: judgeBreaker,
  admit: recordAdmission,
  countRefusal,
  settle: recordSettlement,
  endWork,
  renew: renewProbe,
  open: openBreaker,
  halfOpen: halfOpenBreaker,
  reset: resetBreaker,
  release(state: BreakerState): void {
    state.heldAtMs = -1;
  },
  save: exportBreaker,
  load: importBreaker,
  /** Whether a call that was settled may be settled again. */
  settlesTwice: false,
};

export type Machine = typeof machine;

export interface Plan {
  readonly settings: BreakerSettings;
  /** Calls that may overlap. */
  readonly overlap: number;
  readonly machine?: Partial<Machine>;
  /** Let the clock step back, too. */
  readonly backwards?: boolean;
}

export interface Walk {
  readonly worlds: number;
  readonly steps: number;
  /** The phases, causes and verdicts that were reached. */
  readonly reached: ReadonlySet<string>;
}

export class Violation extends Error {
  readonly invariant: number;

  constructor(invariant: number, what: string, trail: readonly string[]) {
    super(`invariant ${invariant}: ${what}\n  ${trail.join(' > ')}`);
    this.name = 'Violation';
    this.invariant = invariant;
  }
}

const stepMs = 1_000;
const worldsMax = 2_000_000;
const farMs = 86_400_000;
/** The end of a wait or lease may come this far away by a clock that steps back. */
const backMs = 5 * stepMs;

interface Step {
  readonly name: string;
  run(world: World): void;
}

/** Explores all worlds, from a closed breaker without calls. Throws a Violation with the way that led to it. */
export function explore(plan: Plan): Walk {
  const { settings, overlap } = plan;
  const parts: Machine = { ...machine, ...plan.machine };
  const first: World = {
    state: initialBreaker(settings),
    calls: [],
    nowMs: 10 * stepMs,
    generation: 1,
    failuresAtMs: [],
  };
  const ways = new Map<string, { readonly from: string; readonly by: string }>();
  const reached = new Set<string>();
  let steps = 0;
  let here = keyOf(first, settings);
  let doing = '';
  const fail = (invariant: number, what: string): never => {
    const trail = [doing];
    for (let key = here; key !== ''; key = ways.get(key)!.from) trail.unshift(ways.get(key)!.by);
    throw new Violation(invariant, what, trail);
  };
  ways.set(here, { from: '', by: 'start' });
  const waiting: (readonly [string, World])[] = [[here, first]];
  // The list grows while it is walked: nearest worlds first, so that a violation comes with the shortest way to it.
  for (const [key, world] of waiting) {
    here = key;
    doing = 'look';
    reached.add(`${world.state.phase}${world.state.heldAtMs >= 0 ? ' held' : ''}`);
    checkWorld(world, plan, parts, fail);
    for (const step of stepsOf(world, plan, parts, reached)) {
      doing = step.name;
      const after = copyOf(world);
      step.run(after);
      forgetOld(after, settings);
      steps++;
      checkStep(world, after, step.name, settings, fail);
      const to = keyOf(after, settings);
      if (ways.has(to)) continue;
      if (ways.size >= worldsMax) throw new Error(`more than ${worldsMax} worlds with ${overlap} calls`);
      ways.set(to, { from: key, by: step.name });
      waiting.push([to, after]);
    }
  }
  return { worlds: ways.size, steps, reached };
}

const endings: Readonly<Record<string, Outcome>> = {
  succeeds: success,
  fails: failure(),
  'is ignored': { kind: 'neutral', why: 'ignored' },
  'is cancelled': cancelled,
};

function stepsOf(world: World, plan: Plan, parts: Machine, reached: Set<string>): readonly Step[] {
  const { settings } = plan;
  const steps: Step[] = [
    {
      name: 'tick',
      run(after) {
        after.nowMs += stepMs;
      },
    },
    { name: 'trip by hand', run: ({ state, nowMs }) => parts.open(state, settings, nowMs, 'a trip by hand') },
    { name: 'reset', run: ({ state }) => parts.reset(state) },
    {
      name: 'hold',
      run({ state, nowMs }) {
        state.heldAtMs = nowMs;
      },
    },
    { name: 'release', run: ({ state }) => parts.release(state) },
  ];
  const { openUntilMs, probes } = world.state;
  const aheadMs = Math.max(openUntilMs, ...probes.map(({ endMs }) => endMs)) - world.nowMs;
  if (plan.backwards && aheadMs < backMs) {
    steps.push({
      name: 'tick back',
      run(after) {
        after.nowMs -= stepMs;
      },
    });
  }
  if (world.state.phase === 'open') {
    steps.push({ name: 'found healthy', run: ({ state, nowMs }) => parts.halfOpen(state, nowMs) });
  }
  if (world.calls.length < plan.overlap) {
    steps.push({ name: 'ask', run: (after) => reached.add(ask(after, settings, parts)) });
  }
  const seen = new Set<string>();
  for (const [at, call] of world.calls.entries()) {
    const kind = callKey(call, world, settings);
    if (seen.has(kind)) continue; // Calls alike have a future alike.
    seen.add(kind);
    if (call.settled) {
      steps.push({ name: `work ${kind} ends`, run: (after) => endCall(after, at, parts) });
      continue;
    }
    for (const [how, outcome] of Object.entries(endings)) {
      steps.push({
        name: `${kind} ${how}`,
        run: (after) => settle(after, at, outcome, settings, parts),
      });
    }
    steps.push({
      name: `${kind} times out`,
      run(after) {
        const { admitted } = after.calls[at]!;
        noteFailure(after, admitted, endings.fails!);
        parts.settle(after.state, settings, admitted, failure(), after.nowMs, true);
        after.calls[at]!.settled = true;
      },
    });
    if (call.admitted.probe) {
      steps.push({
        name: `${kind} renews`,
        run: ({ state, calls, nowMs }) => parts.renew(state, settings, calls[at]!.admitted, nowMs),
      });
    }
  }
  return steps;
}

let ids = 0;

/** One caller: admitted, or refused. What it heard. */
function ask(world: World, settings: BreakerSettings, parts: Machine): string {
  const { state, nowMs } = world;
  const verdict = parts.judge(state, settings, nowMs);
  if (verdict.kind !== 'allow') {
    parts.countRefusal(state, settings, nowMs);
    return `refused while ${state.phase}`;
  }
  const admitted = parts.admit(state, settings, ++ids, nowMs);
  world.calls.push({ admitted, settled: false });
  return `admitted while ${state.phase}${admitted.probe ? ' as a probe' : ''}`;
}

function settle(world: World, at: number, outcome: Outcome, settings: BreakerSettings, parts: Machine): void {
  const [call] = world.calls.splice(at, 1);
  noteFailure(world, call!.admitted, outcome);
  for (let times = 0; times < 2; times++) {
    if (call!.settled && !parts.settlesTwice) continue; // As the shell does: a permit is settled once.
    call!.settled = true;
    parts.settle(world.state, settings, call!.admitted, outcome, world.nowMs);
  }
}

function endCall(world: World, at: number, parts: Machine): void {
  world.calls.splice(at, 1);
  parts.endWork(world.state);
}

function noteFailure({ state, failuresAtMs, nowMs }: World, { generation }: AdmittedCall, { kind }: Outcome): void {
  if (kind === 'failure' && state.phase === 'closed' && generation === state.generation) failuresAtMs.push(nowMs);
}

/** The explorer's own record of failures: of this closed phase, and younger than the window. */
function forgetOld(world: World, { monitorWindowSecs }: BreakerSettings): void {
  const { state, nowMs } = world;
  if (state.generation !== world.generation) world.failuresAtMs = [];
  world.generation = state.generation;
  world.failuresAtMs = world.failuresAtMs.filter((atMs) => nowMs - atMs < monitorWindowSecs * 1_000);
}

type Fail = (invariant: number, what: string) => never;

/** What must hold of a step, by what it was. */
function checkStep(before: World, after: World, name: string, settings: BreakerSettings, fail: Fail): void {
  const a = before.state;
  const b = after.state;
  const moved = a.phase !== b.phase;
  if (b.generation < a.generation) fail(2, 'a generation went back');
  if (moved && b.generation === a.generation) fail(2, `${a.phase} to ${b.phase} within one generation`);
  if (b.inFlight !== after.calls.length) fail(3, `${after.calls.length} calls run, ${b.inFlight} are known`);
  const probes = after.calls.filter(({ admitted, settled }) => !settled && isLive(admitted, after));
  if (b.phase === 'half-open' && probes.length > settings.halfOpenPermits)
    fail(1, `${probes.length} probes are out, ${settings.halfOpenPermits} may be`);

  const call = before.calls.find((one) => !after.calls.some(({ admitted }) => admitted.id === one.admitted.id));
  const given = after.calls.find(({ admitted }) => !before.calls.some((one) => one.admitted.id === admitted.id));
  if (name === 'ask') {
    if (b.requests !== a.requests + 1) fail(3, 'a request was not counted once');
    if (b.failures + b.successes + b.neutrals + b.late !== a.failures + a.successes + a.neutrals + a.late)
      fail(3, 'asking settled something');
    if (given === undefined && b.refused !== a.refused + 1) fail(3, 'a refusal was not counted once');
    if (given !== undefined && a.heldAtMs >= 0) fail(3, 'admitted while held');
    if (given !== undefined && b.phase !== 'closed' && !given.admitted.probe)
      fail(1, `admitted without a probe while ${b.phase}`);
    if (given !== undefined && a.phase === 'open' && before.nowMs < a.openUntilMs) fail(2, 'admitted before its time');
    const free = probes.length < settings.halfOpenPermits && a.heldAtMs < 0;
    if (given === undefined && b.phase === 'half-open' && free) fail(4, 'refused though a permit is free');
    if (a.phase === 'half-open' && b.phase === 'closed') fail(2, 'asking closed it');
    if (a.phase === 'closed' && moved && settings.slowCallSecs === undefined) fail(2, 'asking opened it');
    return;
  }
  const settledNow = /succeeds|fails|ignored|cancelled|times out/.test(name);
  if (settledNow) {
    const counted = b.failures + b.successes + b.neutrals + b.late - a.failures - a.successes - a.neutrals - a.late;
    if (counted !== 1) fail(3, `one ending was counted ${counted} times`);
    const ended = call ?? before.calls.find((one, at) => !one.settled && after.calls[at]?.settled);
    const { admitted } = ended!;
    const own = admitted.generation === a.generation && a.phase !== 'open';
    const mayMove = own && (a.phase === 'closed' || isProbe(admitted, before));
    if (!mayMove && keyOf({ ...before, calls: [] }, settings) !== keyOf({ ...after, calls: [] }, settings))
      fail(2, `a result of an earlier generation moved ${a.phase} to ${b.phase}, or something in it`);
    if (!mayMove && b.late !== a.late + 1) fail(2, 'a late result was not counted as late');
    if (!mayMove && b.openUntilMs !== a.openUntilMs) fail(2, 'a straggler moved the end of the open period');
    if (moved && a.phase === 'closed' && b.phase !== 'open') fail(2, `closed became ${b.phase}`);
    if (moved && b.phase === 'closed' && !name.includes('succeeds')) fail(2, `closed because a call ${name}`);
    if (moved && b.phase === 'open' && !/fails|times out/.test(name) && settings.slowCallSecs === undefined)
      fail(2, `opened because a call ${name}`);
    if (mayMove && a.phase === 'half-open' && isProbe(admitted, after)) fail(3, 'a settled probe keeps its permit');
    if (mayMove && a.phase === 'half-open' && /fails|times out/.test(name) && b.phase !== 'open')
      fail(2, 'a failed probe did not open it');
    return;
  }
  if (name === 'reset' && b.phase !== 'closed') fail(2, 'a reset did not close it');
  if (name === 'trip by hand' && b.phase !== 'open') fail(2, 'a trip did not open it');
  if (/tick|hold|release|renews|ends/.test(name) && moved) fail(2, `${name} moved ${a.phase} to ${b.phase}`);
  if (name === 'release' && b.heldAtMs >= 0) fail(2, 'released and still held');
}

/** What must hold of a world, whatever led to it. */
function checkWorld(world: World, { settings, backwards }: Plan, parts: Machine, fail: Fail): void {
  const { state, nowMs } = world;
  if (settings.trip === 'time_window') {
    const counted = bucketSums(state, settings, nowMs).failures;
    const windowMs = settings.monitorWindowSecs * 1_000;
    const young = world.failuresAtMs.filter((atMs) => nowMs - atMs < windowMs).length;
    if (counted > young) fail(5, `${counted} failures are counted, ${young} are younger than the window`);
    const fresh = world.failuresAtMs.filter((atMs) => nowMs - atMs < windowMs - windowMs / bucketsPerWindow).length;
    if (counted < fresh) fail(5, `${counted} failures are counted, ${fresh} are well within the window`);
  }
  if (state.phase === 'closed' && countedFailures(state, settings, nowMs) >= settings.failureThreshold)
    fail(5, 'closed with as many failures as open it');

  const again = copyOf(world);
  again.state.heldAtMs = -1;
  again.calls = [];
  const waitMs = settings.recoveryTimeoutSecs * 1_000 + (backwards ? backMs : 0);
  again.nowMs += Math.max(waitMs, settings.leaseSecs * 1_000, (settings.slowCallSecs ?? 0) * 2_000);
  if (ask(again, settings, parts).startsWith('refused')) {
    again.nowMs += waitMs;
    if (ask(again, settings, parts).startsWith('refused'))
      fail(4, `nobody is admitted ${again.nowMs - nowMs} ms later, while ${again.state.phase}`);
  }

  const shifted = shiftedBy(world, farMs);
  const verdict = parts.judge(state, settings, nowMs);
  const there = parts.judge(shifted.state, settings, shifted.nowMs);
  if (verdict.kind !== there.kind) fail(6, `${verdict.kind} here, ${there.kind} on another clock`);
  if (keyOf(world, settings) !== keyOf(shifted, settings)) fail(6, 'another world on another clock');

  const saved = JSON.parse(JSON.stringify(parts.save(state, settings, nowMs)));
  const taken: World = { ...world, state: parts.load(saved, settings, farMs), calls: [], nowMs: farMs };
  taken.failuresAtMs = [];
  const alone = copyOf(world);
  alone.state.probes = [];
  alone.state.running?.fill(0);
  alone.state.overdue = 0;
  alone.failuresAtMs = [];
  alone.calls = [];
  if (keyOf(taken, settings) !== keyOf(alone, settings))
    fail(8, `saved ${keyOf(alone, settings)}, taken up ${keyOf(taken, settings)}`);
}

function isProbe(admitted: AdmittedCall, { state }: World): boolean {
  return admitted.generation === state.generation && state.probes.some(({ id }) => id === admitted.id);
}

function isLive(admitted: AdmittedCall, world: World): boolean {
  const { state, nowMs } = world;
  return isProbe(admitted, world) && state.probes.some(({ id, endMs }) => id === admitted.id && nowMs < endMs);
}

/** What a call can still do: nothing (late), count, or probe while its lease runs. */
function callKey(call: Call, world: World, settings: BreakerSettings): string {
  const { state, nowMs } = world;
  const { admitted } = call;
  if (call.settled) return 'given-up';
  if (admitted.generation !== state.generation || state.phase === 'open') return 'late';
  const slots = settings.slowCallSecs === undefined ? 0 : Math.min(10, (nowMs - admitted.atMs) / stepMs);
  const probe = state.probes.find(({ id }) => id === admitted.id);
  if (state.phase === 'closed') return `call${slots}`;
  return probe === undefined ? 'late' : `probe${Math.max(0, probe.endMs - nowMs)}/${slots}`;
}

/** The world without names and points in time: two worlds with one key have the same future. */
function keyOf(world: World, settings: BreakerSettings): string {
  const { state, calls, nowMs, failuresAtMs } = world;
  const parts: (string | number)[] = [
    state.phase,
    state.heldAtMs >= 0 ? 'held' : '',
    settings.trip === 'consecutive' || settings.trip === 'cumulative' ? state.run : '', // Windows do not look at it.
    state.probeSuccesses,
    state.phase === 'open' ? Math.max(0, state.openUntilMs - nowMs) : '',
    state.probes
      .map(({ endMs }) => Math.max(0, endMs - nowMs))
      .sort()
      .join(),
  ];
  if (settings.trip === 'count_window' || settings.slowCallSecs !== undefined)
    parts.push(saveWindows(state, settings, nowMs).calls);
  if (settings.trip === 'time_window') {
    // The buckets as they lie, also those that are too old to count: a fault could count them again.
    const { parts: raw } = saveWindows(state, settings, nowMs);
    parts.push(raw.filter((_, at) => at % 3 === 1).join(''));
    const bucket = Math.floor((nowMs - state.bucketFromMs) / stepMs);
    parts.push(Math.min(bucketsPerWindow + 1, bucket - state.bucketAt));
    parts.push(failuresAtMs.map((atMs) => nowMs - atMs).join());
  }
  if (settings.slowCallSecs !== undefined)
    for (let ahead = 0; ahead <= 9; ahead++) parts.push(countOverdue(state, settings, nowMs + ahead * stepMs));
  return `${parts.join('|')}#${calls
    .map((call) => callKey(call, world, settings))
    .sort()
    .join()}`;
}

function copyOf(world: World): World {
  const { state } = world;
  return {
    nowMs: world.nowMs,
    generation: world.generation,
    failuresAtMs: world.failuresAtMs.slice(),
    calls: world.calls.map((call) => ({ ...call })),
    state: {
      ...state,
      probes: state.probes.map((probe) => ({ ...probe })),
      tripTimesMs: [],
      ring: state.ring?.slice() ?? null,
      buckets: state.buckets?.slice() ?? null,
      running: state.running?.slice() ?? null,
    },
  };
}

/** The same world on a clock that started earlier. */
function shiftedBy(world: World, byMs: number): World {
  const shifted = copyOf(world);
  const { state } = shifted;
  shifted.nowMs += byMs;
  shifted.failuresAtMs = shifted.failuresAtMs.map((atMs) => atMs + byMs);
  shifted.calls = shifted.calls.map((call) => ({
    ...call,
    admitted: { ...call.admitted, atMs: call.admitted.atMs + byMs },
  }));
  state.openUntilMs += byMs;
  state.openedAtMs += byMs;
  if (state.heldAtMs >= 0) state.heldAtMs += byMs;
  for (const probe of state.probes) probe.endMs += byMs;
  // Both divide the shift: a bucket and a slot last one step, and there are 6 and 9 of them.
  state.bucketAt += byMs / stepMs;
  state.runningAt += byMs / stepMs;
  return shifted;
}
