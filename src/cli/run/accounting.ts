/** What an agent does, booked on its task from its stream and its session files, and kept so that it can go on. */

import { homedir } from 'node:os';
import { accountEvents, type EventAccounting } from '../../agents/accounting/account-events.ts';
import type { AgentEvent, ResultEvent } from '../../agents/index.ts';
import { type SessionWatch, sessionWatch } from '../../agents/session-watch.ts';
import { microsPerCent } from '../../core/controls/budget/budget.ts';
import { runSaveEveryMs, secsMax, sessionNewsMs, sessionPollMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Switchgear, Task, TaskOptions, TaskSnapshot } from '../../guard/api.ts';
import { adoptHaltedTask, type CarriedTask, captureTask } from '../../guard/internal.ts';
import { deleteRun, type RunRecord, type SubagentLimits, writeRun } from '../../supervisor/run-record.ts';
import type { RunCommandContext } from './context.ts';
import { createCallEvidence } from './evidence.ts';
import { openHookReports } from './hook-reports.ts';
import type { LaunchedRun } from './launch.ts';

/** What is known of a run at its end. */
export interface AttemptSummary {
  readonly task: string;
  readonly snapshot: TaskSnapshot;
  readonly limits: TaskSettings;
  /** What it did last, for the terminal. */
  readonly evidence: readonly string[];
  readonly record: RunRecord;
  /** Whether the call that was one too many was refused before it ran. */
  readonly wasRefused: boolean;
  /** The last answer of the agent. */
  readonly result: ResultEvent | undefined;
}

/** The task that a run begins with, and limits of subagents that are not the policy's. */
export interface RunTask {
  readonly task: TaskOptions;
  readonly below?: SubagentLimits | undefined;
}

export interface RunAccounting {
  /** The task that the agent works on now. */
  readonly task: Task;
  readonly halt: Refusal | undefined;
  feed(event: AgentEvent): void;
  /** Looks at what the agent's files and hooks say. */
  poll(): void;
  /** The process stands still, and goes on. */
  pause(): void;
  resume(): void;
  /** The process is gone: whatever its files still say is read, and the task is over. */
  finish(how: 'done' | 'error', halt: Refusal | undefined): AttemptSummary;
}

/** Events of a stream that follow upon a model call, or begin one: the files have what it used, and of which model. */
const newsEventTypes: ReadonlySet<AgentEvent['type']> = new Set(['tool_use', 'total', 'step'] as const);

export function startRunAccounting(
  context: RunCommandContext,
  launched: LaunchedRun,
  runTask: RunTask,
  onHalt: (halt: Refusal) => void,
): RunAccounting {
  const { gear, store, terminal, clock } = context;
  const { agent, mode, wallMs } = launched;
  const { task: firstTask, session } = launched.record;
  const isInteractive = mode === 'interactive';
  const callEvidence = createCallEvidence();
  const hookReports = openHookReports(gear, store, firstTask);
  let microsAtHalt = 0;
  let task = startTask({ ...runTask.task, id: firstTask });
  let accounting = startAccounting();
  let watch: SessionWatch | undefined;
  let isPolling = false;
  let polledMs = Number.NEGATIVE_INFINITY;
  let savedMs = clock.nowMs();
  let record: RunRecord = { ...launched.record, ...(runTask.below && { below: runTask.below }) };

  function startTask(options: TaskOptions): Task {
    // A person who thinks is no agent that is silent.
    const noTimeLimits = isInteractive ? { maxDurationSecs: secsMax, maxIdleSecs: secsMax } : {};
    const started = gear.startTask({ ...options, session, limits: { ...noTimeLimits, ...options.limits } });
    if (!isInteractive) context.setStatusTask(started); // The terminal is its own.
    return started;
  }

  function startAccounting(): EventAccounting {
    const started: EventAccounting = accountEvents(gear, task, {
      onHalt(halt) {
        microsAtHalt = started.spent.micros;
        onHalt(halt);
      },
      isGuardedByHooks: hookReports.covers,
      subagentLimits: runTask.below,
    });
    return started;
  }

  function saveRecord(changes: Partial<RunRecord>): void {
    savedMs = clock.nowMs();
    const carried = captureTask(gear, task.id);
    record = { ...record, ...changes, ...(carried && { carried }) };
    writeRun(store, record);
  }

  /** The agent's own name of its conversation: its files are found by it, and it can be gone on with. */
  function watchConversation(conversation: string): void {
    saveRecord({ conversation });
    watch?.close();
    watch = sessionWatch(agent.cli, {
      session: conversation,
      cwd: terminal.cwd,
      home: terminal.env.HOME || homedir(),
      env: terminal.env,
      besideStream: !isInteractive,
      resumed: agent.session === conversation,
      sinceMs: wallMs,
    });
  }

  function feed(event: AgentEvent): void {
    if (newsEventTypes.has(event.type)) pollIfDue();
    if (event.type === 'session' && event.id !== undefined && event.id !== record.conversation)
      watchConversation(event.id);
    else if (clock.nowMs() - savedMs > runSaveEveryMs) saveRecord({});
    // At a terminal each request of a person is a task of its own, so that its limits are those of a request.
    if (isInteractive && event.type === 'user' && event.by === 'person') {
      accounting.end();
      task.end();
      task = startTask(runTask.task);
      accounting = startAccounting();
    }
    if (accounting.halt === undefined) callEvidence.feed(event);
    accounting.account(event);
  }

  function poll(): void {
    isPolling = true;
    for (const event of watch?.poll() ?? []) feed(event);
    hookReports.applyHalt(task);
    isPolling = false;
    polledMs = clock.nowMs();
  }

  /** What the files tell of a model call should be known when what it led to is. */
  function pollIfDue(): void {
    if (isPolling || clock.nowMs() - polledMs < sessionNewsMs) return;
    poll();
  }

  function pollRepeatedly(): void {
    poll();
    cancelPoll = clock.after(sessionPollMs, pollRepeatedly);
  }

  /** That it is on its way to a limit is no news once it is over. */
  function dismissNotices(): void {
    for (const { id, kind, state, task: cardTask } of gear.snapshot().cards) {
      const belongsToRun = cardTask === task.id || cardTask.startsWith(`${task.id}/`);
      if (belongsToRun && kind === 'notice' && state === 'open') gear.cards.answer(id, 'dismiss', 'switchgear run');
    }
  }

  let cancelPoll = clock.after(sessionPollMs, pollRepeatedly);
  saveRecord({});
  if (launched.conversation !== undefined) watchConversation(launched.conversation);

  return {
    get task() {
      return task;
    },
    get halt() {
      return accounting.halt;
    },
    feed,
    poll,
    pause: () => accounting.pause(),
    resume: () => accounting.resume(),
    finish(how, halt) {
      cancelPoll();
      poll();
      watch?.close();
      accounting.end();
      const carried = captureTask(gear, task.id);
      const lateMicros = halt === undefined ? 0 : accounting.spent.micros - microsAtHalt;
      const { spendCents, ...rest } = task.snapshot();
      const snapshot = { ...rest, spendCents: spendCents + lateMicros / microsPerCent };
      context.setStatusTask(undefined);
      task.end(how);
      dismissNotices();
      const wasRefused = hookReports.hasHalted;
      hookReports.clear();
      if (halt === undefined || carried === undefined) deleteRun(store, record.task);
      else {
        const carriedWithLate = addLateSpending(carried, halt, lateMicros);
        const below = raiseSubagentLimits(gear, task.id, halt);
        record = {
          ...record,
          state: 'halted',
          carried: carriedWithLate,
          ...(below && { below: { ...record.below, ...below } }),
        };
        adoptHaltedTask(gear, record, carriedWithLate);
        writeRun(store, record);
      }
      const limits = carried?.limits ?? gear.settings.task;
      const { result } = accounting;
      return { task: record.task, snapshot, limits, evidence: callEvidence.describe(), record, result, wasRefused };
    },
  };
}

/** The raised limits of a subagent that reached a limit of its own; undefined for a halt of the run itself. */
function raiseSubagentLimits(gear: Switchgear, root: string, { task = root }: Refusal): SubagentLimits | undefined {
  const retry = task === root ? undefined : gear.retryOptions(task);
  return retry?.agent && retry.limits ? { [retry.agent]: retry.limits as TaskSettings } : undefined;
}

/** Adds the spending reported after the halt. A halt by a subagent leaves the limits of the run unchanged. */
function addLateSpending(
  { budget, stop: ownStop, ...rest }: CarriedTask,
  halt: Refusal,
  lateMicros: number,
): CarriedTask {
  const { code, control, counters } = halt;
  const stop = ownStop ?? { kind: 'halt', code, control, counters: { ...counters, scope: 'subagent' } };
  return { ...rest, stop, budget: { ...budget, micros: budget.micros + lateMicros } };
}
