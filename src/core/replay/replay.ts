/** Decides a journal again, from nothing: the same entries under the same settings must give the same decisions. */

import type { Action } from '../action.ts';
import { halfOpenBreaker, openBreaker, resetBreaker } from '../controls/breaker/phases.ts';
import { applyAll, checkAll, decide } from '../decide.ts';
import type { ControlEvent, Entry } from '../event.ts';
import type { BreakerSettings, Settings } from '../settings.ts';
import { allow, type Stop, type Verdict } from '../verdict.ts';
import { replayRecords } from './records.ts';
import { createReplayState, type ReplayOptions } from './state.ts';
import type { ReplayTask } from './tasks.ts';

/** A line that came out differently. */
export interface ReplayDifference {
  readonly seq: number;
  readonly expected: string;
  readonly got: string;
}

export interface Replay {
  /** Decisions, trips and halts that were compared. */
  readonly decisions: number;
  readonly differences: readonly ReplayDifference[];
  /** The last line that was looked at: a replay ends where another policy was taken. */
  readonly lastSeq: number;
}

/**
 * Replays a journal, complete from its first line. One of level `all` is decided anew, call by call; of one of level
 * `refusals` every trip and halt is judged again by the counters it was written with.
 */
export function replay(entries: readonly Entry[], settings: Settings, options: ReplayOptions = {}): Replay {
  const end = entries.findIndex(({ type }) => type === 'policy-reloaded');
  const part = end < 0 ? entries : entries.slice(0, end);
  const lastSeq = (entries[end] ?? entries.at(-1))?.seq ?? 0;
  const replayEntries = settings.journal.level === 'all' ? replayAll : replayRecords;
  return { ...replayEntries(part, settings, options), lastSeq };
}

function replayAll(
  entries: readonly Entry[],
  settings: Settings,
  options: ReplayOptions,
): Pick<Replay, 'decisions' | 'differences'> {
  const observes = (options.mode ?? settings.mode) === 'observe';
  const state = createReplayState(settings, options);
  const { tasks, panelFor } = state;
  const differences: ReplayDifference[] = [];
  /** Openings that the journal tells before the proposal that showed them. */
  const announcedTrips = new Map<string, { readonly seq: number; readonly generation: number }>();
  /** What passed although it was refused, because the gear only observes. */
  let observedRefusal: Action | undefined;
  let decisions = 0;

  function compare(seq: number, expected: string, got: string): void {
    decisions++;
    if (expected !== got) differences.push({ seq, expected, got });
  }

  function propose(entry: Entry, action: Action, expected: Verdict, probe: boolean): void {
    const task = tasks.find(action.task);
    const panel = panelFor(action, entry.breaker);
    const verdict = task?.stop ?? decide(panel, { type: 'action-proposed', atMs: entry.atMs, action }).verdict;
    const breaker = entry.breaker === undefined ? undefined : state.findBreaker(entry.breaker);
    const before = { generation: breaker?.generation ?? 0, probes: breaker?.probes.length ?? 0 };
    applyAll(panel, { type: 'action-decided', atMs: entry.atMs, action, verdict: expected });
    const mayProbe = breaker !== undefined && breaker.phase === 'half-open' && expected.kind === 'allow';
    const isProbe = mayProbe && (breaker.generation !== before.generation || breaker.probes.length > before.probes);
    compare(entry.seq, formatVerdict(expected, probe), formatVerdict(verdict, isProbe));
    if (entry.breaker !== undefined && breaker !== undefined) matchAnnouncedTrip(entry.breaker, breaker.generation);
    if (task !== undefined) applyRefusal(task, expected, entry.atMs);
  }

  /** A wait that nobody could sit out, or a question that nobody said yes to: the answer is the journal's own. */
  function applyConclusion(entry: Entry, action: Action, verdict: Verdict): void {
    applyAll(panelFor(action, entry.breaker), { type: 'action-decided', atMs: entry.atMs, action, verdict });
    const task = tasks.find(action.task);
    if (task !== undefined) applyRefusal(task, verdict, entry.atMs);
  }

  function applyRefusal(task: ReplayTask, verdict: Verdict, atMs: number): void {
    if (verdict.kind === 'halt') tasks.halt(task, verdict, observes);
    else if (verdict.kind === 'deny') checkTask(task, atMs);
  }

  function matchAnnouncedTrip(key: string, generation: number): void {
    const announced = announcedTrips.get(key);
    if (announced === undefined) return;
    announcedTrips.delete(key);
    compare(announced.seq, `generation ${announced.generation}`, `generation ${generation}`);
  }

  function checkTask(task: ReplayTask, atMs: number): void {
    if (task.stop === undefined && !task.ended) haltIf(task, checkAll(task.boundControls, atMs));
  }

  function haltIf(task: ReplayTask, due: Verdict | undefined): void {
    if (due?.kind === 'halt') tasks.halt(task, due, observes);
  }

  function applyEvent(entry: Entry, event: ControlEvent): void {
    const task = tasks.find(entry.task);
    if (task === undefined) return;
    applyAll(task.boundControls, event);
    checkTask(task, entry.atMs);
  }

  function applyHalt(entry: Extract<Entry, { type: 'task-halted' }>): void {
    const task = tasks.find(entry.task);
    if (task === undefined || entry.cause !== undefined) return;
    const { code } = entry.stop;
    if (isExternalHalt(entry.stop)) tasks.halt(task, entry.stop, observes);
    else if (!task.reported.has(code)) checkTask(task, entry.atMs);
    task.isInJournal = true;
    compare(entry.seq, code, task.reported.has(code) ? code : (task.stop?.code ?? 'none'));
  }

  function applySettlement(entry: Extract<Entry, { type: 'action-settled' }>): void {
    const { action } = entry.permit;
    const panel = panelFor(action, entry.breaker);
    applyAll(panel, entry);
    const task = tasks.find(action.task);
    if (task === undefined || task.stop !== undefined || task.ended) return;
    if (entry.outcome.kind === 'failure' || entry.cost !== undefined || entry.resultHits !== undefined) {
      haltIf(task, checkAll(panel, entry.atMs, action));
    }
  }

  function applyDelegationReturn(entry: Extract<Entry, { type: 'delegation-returned' }>): void {
    const task = tasks.find(entry.task);
    if (task === undefined) return;
    const { worker, failed, reason, session = '', agent = '', atMs } = entry;
    const panel = panelFor({ ...emptyDelegation, name: worker, session, agent, task: task.id }, undefined);
    applyAll(panel, { type: 'delegation-returned', atMs, worker, failed, reason });
    const bound = panel.find(({ control }) => control.name === 'delegation');
    if (failed) haltIf(task, bound?.control.check?.(bound.cell.state, atMs));
  }

  function applyEntry(entry: Entry): void {
    const { atMs } = entry;
    switch (entry.type) {
      case 'task-started':
        // Breakers of a task that had the same id went with it; calls that it had out could still reach them.
        state.dropTaskBreakers(entry.task ?? '');
        tasks.start(entry);
        return;
      case 'task-ended':
        tasks.end(entry.task);
        return;
      case 'task-halted':
        applyHalt(entry);
        return;
      case 'action-allowed':
        if (observedRefusal?.id === entry.action.id) applyConclusion(entry, entry.action, allow);
        else propose(entry, entry.action, allow, entry.probe);
        observedRefusal = undefined;
        return;
      case 'action-refused': {
        const { action, decision } = entry;
        if (entry.after !== undefined) {
          applyConclusion(entry, action, decision.verdict);
          return;
        }
        if (entry.enforced) {
          propose(entry, action, decision.verdict, false);
          return;
        }
        const { verdict } = decide(panelFor(action, entry.breaker), { type: 'action-proposed', atMs, action });
        compare(entry.seq, formatVerdict(decision.verdict, false), formatVerdict(verdict, false));
        observedRefusal = action;
        return;
      }
      case 'action-waited':
      case 'action-asked':
        propose(entry, entry.action, entry.decision.verdict, false);
        return;
      case 'action-settled':
        applySettlement(entry);
        return;
      case 'work-ended':
      case 'permit-renewed': {
        const { type, permit } = entry;
        applyAll(panelFor(permit.action, entry.breaker), { type, atMs, permit });
        return;
      }
      case 'delegation-returned':
        applyDelegationReturn(entry);
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
        applyEvent(entry, entry as ControlEvent);
        return;
      case 'breaker-tuned':
        state.tune(entry.name, entry.overrides as Partial<BreakerSettings>);
        return;
      case 'breaker-opened':
        if (entry.cause === handTrip) {
          state.changeBreaker(entry.key, entry.name, (breaker, breakerSettings) =>
            openBreaker(breaker, breakerSettings, atMs, handTrip, entry.untilMs),
          );
        }
        if (state.findBreaker(entry.key)?.generation === entry.generation) decisions++;
        else announcedTrips.set(entry.key, entry);
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
        return; // Told for people: it changes nothing.
    }
  }

  for (const entry of entries) applyEntry(entry);
  for (const { seq, generation } of announcedTrips.values()) compare(seq, `generation ${generation}`, 'none');
  const last = entries.at(-1)?.seq ?? 0;
  for (const task of tasks.listMissingHalts()) compare(last, 'none', `halt ${task.stop?.code} of ${task.id}`);
  return { decisions, differences };
}

const handTrip = 'a trip by hand';

/** The delegation that a return is about; only its name and place matter. */
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

/** A halt that nothing in the state says: by hand, or because a price is unknown. */
function isExternalHalt(stop: Stop): boolean {
  return stop.control === 'operator' || stop.counters.actual === 'unknown';
}

function formatVerdict(verdict: Verdict, probe: boolean): string {
  if (verdict.kind === 'allow') return probe ? 'allow as a probe' : 'allow';
  return `${verdict.kind} ${verdict.code}`;
}
