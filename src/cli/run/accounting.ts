/** What an agent does, booked on its task from its stream and its session files, and kept so that it can go on. */

import { homedir } from 'node:os';
import { accountEvents, type EventAccounting } from '../../agents/accounting/account-events.ts';
import type { AgentEvent, ResultEvent } from '../../agents/index.ts';
import { type SessionWatch, sessionWatch } from '../../agents/session-watch.ts';
import { microsPerCent } from '../../core/controls/budget/budget.ts';
import { runKeptEachMs, secsMax, sessionLookMs, sessionNewsMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Task, TaskOptions, TaskSnapshot } from '../../guard/api.ts';
import { answerCard } from '../../guard/extras/answer-card.ts';
import { adoptHaltedTask, captureTask } from '../../guard/tasks/carried.ts';
import { type BelowLimits, forgetRun, keepRun, type RunRecord } from '../../supervisor/run-record.ts';
import type { RunWorld } from './context.ts';
import { evidence } from './evidence.ts';
import { runHooks } from './hook-reports.ts';
import type { Launched } from './launch.ts';
import { raisedBelow, withLate } from './run-carried.ts';

/** What is known of a run at its end. */
export interface Booked {
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
  readonly below?: BelowLimits | undefined;
}

export interface RunBooking {
  /** The task that the agent works on now. */
  readonly task: Task;
  readonly halt: Refusal | undefined;
  tell(event: AgentEvent): void;
  /** Looks at what the agent's files and hooks say. */
  look(): void;
  /** The process stands still, and goes on. */
  pause(): void;
  resume(): void;
  /** The process is gone: whatever its files still say is read, and the task is over. */
  finish(how: 'done' | 'error', halt: Refusal | undefined): Booked;
}

/** Events of a stream that follow upon a model call, or begin one: the files have what it used, and of which model. */
const hasNews: ReadonlySet<AgentEvent['type']> = new Set(['tool_use', 'total', 'step'] as const);

export function runBooking(
  world: RunWorld,
  launched: Launched,
  runTask: RunTask,
  onHalt: (halt: Refusal) => void,
): RunBooking {
  const { gear, store, terminal, clock } = world;
  const { agent, way, wallMs } = launched;
  const { task: first, session } = launched.record;
  const isInteractive = way === 'interactive';
  const seen = evidence();
  const hooks = runHooks(gear, store, first);
  let microsAtHalt = 0;
  let task = begin({ ...runTask.task, id: first });
  let booking = book();
  let watch: SessionWatch | undefined;
  let isLooking = false;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let keptMs = clock.nowMs();
  let record: RunRecord = { ...launched.record, ...(runTask.below && { below: runTask.below }) };

  function begin(options: TaskOptions): Task {
    // A person who thinks is no agent that is silent.
    const unhurried = isInteractive ? { maxDurationSecs: secsMax, maxIdleSecs: secsMax } : {};
    const started = gear.startTask({ ...options, session, limits: { ...unhurried, ...options.limits } });
    if (!isInteractive) world.follow(started); // The terminal is its own.
    return started;
  }

  function book(): EventAccounting {
    const made: EventAccounting = accountEvents(gear, task, {
      onHalt(halt) {
        microsAtHalt = made.spent.micros;
        onHalt(halt);
      },
      isGuardedByHooks: hooks.ask,
      subagentLimits: runTask.below,
    });
    return made;
  }

  function keep(change: Partial<RunRecord>): void {
    keptMs = clock.nowMs();
    const carried = captureTask(gear, task.id);
    record = { ...record, ...change, ...(carried && { carried }) };
    keepRun(store, record);
  }

  /** The agent's own name of its conversation: its files are found by it, and it can be gone on with. */
  function know(conversation: string): void {
    keep({ conversation });
    watch?.close();
    watch = sessionWatch(agent.cli, {
      session: conversation,
      cwd: terminal.cwd,
      home: terminal.env.HOME || homedir(),
      env: terminal.env,
      beside: !isInteractive,
      resumed: agent.session === conversation,
      sinceMs: wallMs,
    });
  }

  function tell(event: AgentEvent): void {
    if (hasNews.has(event.type)) lookSoon();
    if (event.type === 'session' && event.id !== undefined && event.id !== record.conversation) know(event.id);
    else if (clock.nowMs() - keptMs > runKeptEachMs) keep({});
    // At a terminal each request of a person is a task of its own, so that its limits are those of a request.
    if (isInteractive && event.type === 'user' && event.by === 'person') {
      booking.end();
      task.end();
      task = begin(runTask.task);
      booking = book();
    }
    if (booking.halt === undefined) seen.hear(event);
    booking.account(event);
  }

  function look(): void {
    isLooking = true;
    for (const event of watch?.poll() ?? []) tell(event);
    hooks.heed(task);
    isLooking = false;
    lookedMs = clock.nowMs();
  }

  /** What the files tell of a model call should be known when what it led to is. */
  function lookSoon(): void {
    if (isLooking || clock.nowMs() - lookedMs < sessionNewsMs) return;
    look();
  }

  function lookAgain(): void {
    look();
    forgetLook = clock.after(sessionLookMs, lookAgain);
  }

  /** That it is on its way to a limit is no news once it is over. */
  function closeNotices(): void {
    for (const { id, kind, state, task: of } of gear.snapshot().cards) {
      const isOfRun = of === task.id || of.startsWith(`${task.id}/`);
      if (isOfRun && kind === 'notice' && state === 'open') answerCard(gear, id, 'dismiss', 'switchgear run');
    }
  }

  let forgetLook = clock.after(sessionLookMs, lookAgain);
  keep({});
  if (launched.conversation !== undefined) know(launched.conversation);

  return {
    get task() {
      return task;
    },
    get halt() {
      return booking.halt;
    },
    tell,
    look,
    pause: () => booking.pause(),
    resume: () => booking.resume(),
    finish(how, halt) {
      forgetLook();
      look();
      watch?.close();
      booking.end();
      const carried = captureTask(gear, task.id);
      const lateMicros = halt === undefined ? 0 : booking.spent.micros - microsAtHalt;
      const { spendCents, ...rest } = task.snapshot();
      const snapshot = { ...rest, spendCents: spendCents + lateMicros / microsPerCent };
      world.follow(undefined);
      task.end(how);
      closeNotices();
      const wasRefused = hooks.halted;
      hooks.forget();
      if (halt === undefined || carried === undefined) forgetRun(store, record.task);
      else {
        const whole = withLate(carried, halt, lateMicros);
        const below = raisedBelow(gear, task.id, halt);
        record = { ...record, state: 'halted', carried: whole, ...(below && { below: { ...record.below, ...below } }) };
        adoptHaltedTask(gear, record, whole);
        keepRun(store, record);
      }
      const limits = carried?.limits ?? gear.settings.task;
      const { result } = booking;
      return { task: record.task, snapshot, limits, evidence: seen.sentences(), record, result, wasRefused };
    },
  };
}
