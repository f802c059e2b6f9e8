/**
 * Decides a journal again from an empty state: the same entries under the same settings must give the same decisions.
 */

import type { Action } from '../action.ts';
import { halfOpenBreaker, handTrip, openBreaker, resetBreaker } from '../controls/breaker/phases.ts';
import { findDelegationHalt } from '../controls/panel.ts';
import { applyAll, checkAll, decide } from '../decide.ts';
import type { ControlEvent, Entry } from '../event.ts';
import type { BreakerSettings, Settings } from '../settings.ts';
import { allow, type Stop, type Verdict } from '../verdict.ts';
import { replayRecords } from './records.ts';
import { createReplayState, type ReplayOptions, type ReplayState } from './state.ts';
import type { ReplayTask } from './tasks.ts';

/** An entry whose replayed decision differs. */
export interface ReplayDifference {
  readonly seq: number;
  readonly expected: string;
  readonly got: string;
}

/** The result of a replay. */
export interface Replay {
  /** Compared decisions, trips and halts. */
  readonly decisions: number;
  readonly differences: readonly ReplayDifference[];
  /** The last replayed entry: a replay ends where the policy was reloaded. */
  readonly lastSeq: number;
}

/**
 * Replays a journal that is complete from its first entry. At level `all` every call is decided again; at level
 * `refusals` every trip and halt is judged by the counters in its entry.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { replay } from 'switchgear/testing';
 *
 * const gear = createSwitchgear({ policy: { journal: { level: 'all' } } });
 * const { differences } = replay(gear.journal(), gear.settings);
 */
export function replay(entries: readonly Entry[], settings: Settings, options: ReplayOptions = {}): Replay {
  const end = entries.findIndex(({ type }) => type === 'policy-reloaded');
  const part = end < 0 ? entries : entries.slice(0, end);
  const lastSeq = (entries[end] ?? entries.at(-1))?.seq ?? 0;
  const replayEntries = settings.journal.level === 'all' ? replayAll : replayRecords;
  return { ...replayEntries(part, settings, options), lastSeq };
}

/** A journal of level `all` while it is decided again. */
interface JournalReplay {
  readonly observes: boolean;
  readonly state: ReplayState;
  readonly differences: ReplayDifference[];
  /** Openings whose entry precedes the proposal that caused them, by breaker key. */
  readonly announcedTrips: Map<string, { readonly seq: number; readonly generation: number }>;
  /** A refused action that still runs, because the gear only observes. */
  observedRefusal: Action | undefined;
  decisions: number;
}

function replayAll(
  entries: readonly Entry[],
  settings: Settings,
  options: ReplayOptions,
): Pick<Replay, 'decisions' | 'differences'> {
  const run: JournalReplay = {
    observes: (options.mode ?? settings.mode) === 'observe',
    state: createReplayState(settings, options),
    differences: [],
    announcedTrips: new Map(),
    observedRefusal: undefined,
    decisions: 0,
  };
  for (const entry of entries) applyEntry(run, entry);
  for (const { seq, generation } of run.announcedTrips.values()) compare(run, seq, `generation ${generation}`, 'none');
  const last = entries.at(-1)?.seq ?? 0;
  for (const task of run.state.tasks.listMissingHalts()) {
    compare(run, last, 'none', `halt ${task.stop?.code} of ${task.id}`);
  }
  return { decisions: run.decisions, differences: run.differences };
}

function applyEntry(run: JournalReplay, entry: Entry): void {
  const { atMs } = entry;
  const { state } = run;
  switch (entry.type) {
    case 'task-started':
      // Breakers of an earlier task with the same id are dropped here, since its running calls could still reach them.
      state.dropTaskBreakers(entry.task ?? '');
      state.tasks.start(entry);
      return;
    case 'task-ended':
      state.tasks.end(entry.task);
      return;
    case 'task-halted':
      applyHalt(run, entry);
      return;
    case 'action-allowed':
      if (run.observedRefusal?.id === entry.action.id) applyConclusion(run, entry, entry.action, allow);
      else propose(run, entry, entry.action, allow, entry.probe);
      run.observedRefusal = undefined;
      return;
    case 'action-refused':
      applyRefusedAction(run, entry);
      return;
    case 'action-waited':
    case 'action-asked':
      propose(run, entry, entry.action, entry.decision.verdict, false);
      return;
    case 'action-settled':
      applySettlement(run, entry);
      return;
    case 'work-ended':
    case 'permit-renewed': {
      const { type, permit } = entry;
      const cost = entry.type === 'work-ended' ? entry.cost : undefined;
      applyAll(state.panelFor(permit.action, entry.breaker), { type, atMs, permit, ...(cost && { cost }) });
      return;
    }
    case 'reservation-changed': {
      const { type, permit, micros, tokens } = entry;
      applyAll(state.panelFor(permit.action, entry.breaker), { type, atMs, permit, micros, tokens });
      return;
    }
    case 'delegation-returned':
      applyDelegationReturn(run, entry);
      return;
    case 'text-observed':
    case 'usage-observed':
    case 'call-observed':
    case 'result-observed':
    case 'progress-observed':
    case 'user-observed':
    case 'sign-observed':
    case 'task-stopped':
    case 'task-resumed':
    case 'limit-raised':
      applyEvent(run, entry, entry as ControlEvent);
      return;
    default:
      applyBreakerEntry(run, entry);
  }
}

/** Applies an entry about a breaker; every other entry changes nothing. */
function applyBreakerEntry(run: JournalReplay, entry: Entry): void {
  const { atMs } = entry;
  const { state } = run;
  switch (entry.type) {
    case 'breaker-tuned':
      state.tune(entry.name, entry.overrides as Partial<BreakerSettings>);
      return;
    case 'breaker-opened':
      if (entry.cause === handTrip) {
        state.changeBreaker(entry.key, entry.name, (breaker, settings) =>
          openBreaker(breaker, settings, atMs, handTrip, entry.untilMs),
        );
      }
      if (state.findBreaker(entry.key)?.generation === entry.generation) run.decisions++;
      else run.announcedTrips.set(entry.key, entry);
      return;
    case 'health-checked':
      state.changeBreaker(entry.key, entry.name, (breaker) => {
        if (entry.healthy && breaker.phase === 'open') halfOpenBreaker(breaker, atMs);
      });
      return;
    case 'breaker-reset':
      state.changeBreaker(entry.key, entry.name, resetBreaker);
      return;
    case 'breaker-held':
    case 'breaker-released':
      state.changeBreaker(entry.key, entry.name, (breaker) => {
        breaker.heldAtMs = entry.type === 'breaker-held' ? atMs : -1;
      });
      return;
    default:
      return; // Entries for people only: the state does not depend on them.
  }
}

function compare(run: JournalReplay, seq: number, expected: string, got: string): void {
  run.decisions++;
  if (expected !== got) run.differences.push({ seq, expected, got });
}

function propose(run: JournalReplay, entry: Entry, action: Action, expected: Verdict, probe: boolean): void {
  const { state } = run;
  const task = state.tasks.find(action.task);
  const panel = state.panelFor(action, entry.breaker);
  const verdict = task?.stop ?? decide(panel, { type: 'action-proposed', atMs: entry.atMs, action }).verdict;
  const breaker = entry.breaker === undefined ? undefined : state.findBreaker(entry.breaker);
  const before = { generation: breaker?.generation ?? 0, probes: breaker?.probes.length ?? 0 };
  applyAll(panel, { type: 'action-decided', atMs: entry.atMs, action, verdict: expected });
  const mayProbe = breaker !== undefined && breaker.phase === 'half-open' && expected.kind === 'allow';
  const isProbe = mayProbe && (breaker.generation !== before.generation || breaker.probes.length > before.probes);
  compare(run, entry.seq, formatVerdict(expected, probe), formatVerdict(verdict, isProbe));
  if (entry.breaker !== undefined && breaker !== undefined) matchAnnouncedTrip(run, entry.breaker, breaker.generation);
  if (task !== undefined) applyRefusal(run, task, expected, entry.atMs);
}

/** Applies the journal's own verdict after a wait or a question: the state does not determine how these end. */
function applyConclusion(run: JournalReplay, entry: Entry, action: Action, verdict: Verdict): void {
  const { state } = run;
  applyAll(state.panelFor(action, entry.breaker), { type: 'action-decided', atMs: entry.atMs, action, verdict });
  const task = state.tasks.find(action.task);
  if (task !== undefined) applyRefusal(run, task, verdict, entry.atMs);
}

function applyRefusedAction(run: JournalReplay, entry: Extract<Entry, { type: 'action-refused' }>): void {
  const { action, decision, atMs } = entry;
  if (entry.after !== undefined) {
    applyConclusion(run, entry, action, decision.verdict);
    return;
  }
  if (entry.enforced) {
    propose(run, entry, action, decision.verdict, false);
    return;
  }
  const panel = run.state.panelFor(action, entry.breaker);
  const { verdict } = decide(panel, { type: 'action-proposed', atMs, action });
  compare(run, entry.seq, formatVerdict(decision.verdict, false), formatVerdict(verdict, false));
  run.observedRefusal = action;
}

function applyRefusal(run: JournalReplay, task: ReplayTask, verdict: Verdict, atMs: number): void {
  if (verdict.kind === 'halt') run.state.tasks.halt(task, verdict, run.observes);
  else if (verdict.kind === 'deny') checkTask(run, task, atMs);
}

function matchAnnouncedTrip(run: JournalReplay, key: string, generation: number): void {
  const announced = run.announcedTrips.get(key);
  if (announced === undefined) return;
  run.announcedTrips.delete(key);
  compare(run, announced.seq, `generation ${announced.generation}`, `generation ${generation}`);
}

function checkTask(run: JournalReplay, task: ReplayTask, atMs: number): void {
  if (task.stop === undefined && !task.ended) haltIf(run, task, checkAll(task.boundControls, atMs));
}

function haltIf(run: JournalReplay, task: ReplayTask, due: Verdict | undefined): void {
  if (due?.kind === 'halt') run.state.tasks.halt(task, due, run.observes);
}

function applyEvent(run: JournalReplay, entry: Entry, event: ControlEvent): void {
  const task = run.state.tasks.find(entry.task);
  if (task === undefined) return;
  applyAll(task.boundControls, event);
  checkTask(run, task, entry.atMs);
}

function applyHalt(run: JournalReplay, entry: Extract<Entry, { type: 'task-halted' }>): void {
  const { tasks } = run.state;
  const task = tasks.find(entry.task);
  if (task === undefined || entry.cause !== undefined) return;
  const { code } = entry.stop;
  if (isExternalHalt(entry.stop)) tasks.halt(task, entry.stop, run.observes);
  else if (!task.reported.has(code)) checkTask(run, task, entry.atMs);
  task.isInJournal = true;
  compare(run, entry.seq, code, task.reported.has(code) ? code : (task.stop?.code ?? 'none'));
}

function applySettlement(run: JournalReplay, entry: Extract<Entry, { type: 'action-settled' }>): void {
  const { action } = entry.permit;
  const panel = run.state.panelFor(action, entry.breaker);
  applyAll(panel, entry);
  const task = run.state.tasks.find(action.task);
  if (task === undefined || task.stop !== undefined || task.ended) return;
  if (entry.outcome.kind === 'failure' || entry.cost !== undefined || entry.resultHits !== undefined) {
    haltIf(run, task, checkAll(panel, entry.atMs, action));
  }
}

function applyDelegationReturn(run: JournalReplay, entry: Extract<Entry, { type: 'delegation-returned' }>): void {
  const task = run.state.tasks.find(entry.task);
  const { worker, failed, reason, session = '', agent = '', atMs } = entry;
  const panel = run.state.panelFor(
    { ...emptyDelegation, name: worker, session, agent, ...(task && { task: task.id }) },
    undefined,
  );
  applyAll(panel, { type: 'delegation-returned', atMs, worker, failed, reason });
  if (failed && task !== undefined) haltIf(run, task, findDelegationHalt(panel, atMs));
}

/** The action of a returned delegation; only its name and location matter. */
const emptyDelegation: Action = {
  id: 0,
  kind: 'delegation',
  name: '',
  agent: '',
  session: '',
  fingerprint: 0,
  worstMicros: 0,
  worstTokens: 0,
  patienceMs: 0,
};

/** A halt that the state does not determine: by an operator, or for an unknown price. */
function isExternalHalt(stop: Stop): boolean {
  return stop.control === 'operator' || stop.counters.actual === 'unknown';
}

function formatVerdict(verdict: Verdict, probe: boolean): string {
  if (verdict.kind === 'allow') return probe ? 'allow as a probe' : 'allow';
  return `${verdict.kind} ${verdict.code}`;
}
