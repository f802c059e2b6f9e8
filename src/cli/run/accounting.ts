/** Accounts the events of an agent on its task, from its stream and session files, and stores the run for a resume. */

import { homedir } from 'node:os';
import { accountEvents, type EventAccounting } from '../../agents/accounting/account-events.ts';
import type { AgentEvent, ResultEvent } from '../../agents/index.ts';
import { type SessionWatch, sessionWatch } from '../../agents/session-watch.ts';
import { supervisorName } from '../../core/card.ts';
import { hostRecordMs, runSaveEveryMs, secsMax, sessionNewsMs, sessionPollMs } from '../../core/limits.ts';
import { toMicros } from '../../core/prices/builtin-prices.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Switchgear, Task, TaskOptions, TaskSnapshot } from '../../guard/api.ts';
import { adoptHaltedTask, type CarriedTask, captureTask, countError, runtimeOf } from '../../guard/internal.ts';
import { findRunAround } from '../../supervisor/guarded-agents.ts';
import { type NestedAgent, reportNestedRun } from '../../supervisor/hook-mailbox.ts';
import type { TreeMember } from '../../supervisor/process-tree.ts';
import { deleteRun, type RunRecord, type SubagentLimits, writeRun } from '../../supervisor/run-record.ts';
import type { RunCommandContext } from './context.ts';
import { createCallEvidence } from './evidence.ts';
import { type HookReports, openHookReports } from './hook-reports.ts';
import type { LaunchedRun } from './launch.ts';
import { bookLibraryNews, followLibrary, type LibraryFollower, type LibraryNews } from './library-calls.ts';
import { bookNestedAgents, type NestedAgents } from './nested-agents.ts';
import { addLateSpending, addTotals, type RunTotals } from './run-totals.ts';

/** The result of one attempt. */
export interface AttemptSummary {
  readonly task: string;
  readonly snapshot: TaskSnapshot;
  readonly limits: TaskSettings;
  /** The last calls of the agent, for the terminal. */
  readonly evidence: readonly string[];
  readonly record: RunRecord;
  /** The task below the run that reached a limit of its own, such as that of a heartbeat or a subagent. */
  readonly below: Pick<AttemptSummary, 'snapshot' | 'limits'> | undefined;
  /** Whether a hook refused the call that exceeded the limit before it ran. */
  readonly wasRefused: boolean;
  /** The last answer of the agent. */
  readonly result: ResultEvent | undefined;
}

/** The task that a run starts with, and raised limits of subagents. */
export interface RunTask {
  readonly task: TaskOptions;
  readonly below?: SubagentLimits | undefined;
}

/** The accounting of one attempt. */
export interface RunAccounting {
  /** Whether the output of the agent shows its calls of tools. */
  readonly showsCalls: boolean;
  /** The current task of the agent. */
  readonly task: Task;
  readonly halt: Refusal | undefined;
  feed(event: AgentEvent): void;
  /** Reads the session files of the agent and the reports of its hooks; `isOver` after its process has ended. */
  poll(isOver?: boolean): void;
  /** Stops the clocks of the task and its subagents. */
  pause(): void;
  /** Starts the clocks again. */
  resume(): void;
  /** Books the last calls of library programs, and closes their files. */
  closeLibrary(): void;
  /** Reads the rest of the session files after the process has ended, and ends the task. */
  finish(how: 'done' | 'error', halt: Refusal | undefined): AttemptSummary;
}

/** Stream events around a model call, whose model and usage the session files contain. */
const newsEventTypes: ReadonlySet<AgentEvent['type']> = new Set(['tool_use', 'total', 'step'] as const);

/** What the accounting of an attempt depends on. */
interface AttemptCalls {
  /** Called once when a control halts the task. */
  onHalt(halt: Refusal): void;
  /** Whether a gateway meters the model calls, so that usage which the agent reports is not counted again. */
  isMetered(): boolean;
}

/** Starts the accounting of one attempt. */
export function startRunAccounting(
  context: RunCommandContext,
  launched: LaunchedRun,
  runTask: RunTask,
  calls: AttemptCalls,
): RunAccounting {
  return new AttemptAccounting(context, launched, runTask, calls);
}

class AttemptAccounting implements RunAccounting {
  readonly #context: RunCommandContext;
  readonly #launched: LaunchedRun;
  readonly #runTask: RunTask;
  readonly #calls: AttemptCalls;
  readonly #callEvidence = createCallEvidence();
  readonly #hookReports: HookReports;
  readonly #nestedAgents: NestedAgents;
  /** The conversations of the run's own agent. */
  readonly #conversations = new Set<string>();
  #task: Task;
  #accounting: EventAccounting;
  #record: RunRecord;
  #watch: SessionWatch | undefined;
  #usdAtHalt = 0;
  readonly #library: LibraryFollower;
  #hasStreamCalls = false;
  /** The counts of earlier tasks of the run, and the sum that the outer run has. */
  #totalsBefore: RunTotals = { calls: 0, micros: 0, tokens: 0 };
  #reportedTotal = 0;
  /** The task of the run around this one, once looked for. */
  #outerRun: Promise<string | undefined> | undefined;
  #isPolling = false;
  #polledMs = Number.NEGATIVE_INFINITY;
  #savedMs: number;
  #savedMembers: readonly TreeMember[] = [];
  #cancelPoll: () => void;

  constructor(context: RunCommandContext, launched: LaunchedRun, runTask: RunTask, calls: AttemptCalls) {
    const { gear, store, clock } = context;
    const { task: firstTask } = launched.record;
    this.#context = context;
    this.#launched = launched;
    this.#runTask = runTask;
    this.#calls = calls;
    this.#hookReports = openHookReports(gear, store, firstTask);
    this.#nestedAgents = bookNestedAgents(gear, {
      isOwn: (conversation, agent) => this.#isOwn(conversation, agent),
      isMetered: () => calls.isMetered(),
    });
    this.#task = this.#startTask({ ...runTask.task, id: firstTask });
    this.#accounting = this.#startAccounting();
    const book = (news: LibraryNews) => this.#bookLibrary(news);
    this.#library = followLibrary(gear, { path: launched.libraryCalls, task: firstTask, isOwn: this.#isProgram, book });
    this.#savedMs = clock.nowMs();
    const { policyId: policy } = context;
    this.#record = { ...launched.record, policy, ...(runTask.below && { below: runTask.below }) };
    this.#cancelPoll = clock.after(sessionPollMs, () => this.#pollRepeatedly());
    this.#saveRecord({});
    if (launched.conversation !== undefined) this.#watchConversation(launched.conversation);
  }

  get task(): Task {
    return this.#task;
  }

  get halt(): Refusal | undefined {
    return this.#accounting.halt;
  }

  get showsCalls(): boolean {
    return this.#hasStreamCalls;
  }

  get #isInteractive(): boolean {
    return this.#launched.mode === 'interactive';
  }

  #startTask(options: TaskOptions): Task {
    const { gear, setStatusTask } = this.#context;
    const { session } = this.#launched.record;
    // A person at the terminal may be silent for longer than an agent.
    const noTimeLimits = this.#isInteractive ? { maxDurationSecs: secsMax, maxIdleSecs: secsMax } : {};
    const started = gear.startTask({ ...options, session, limits: { ...noTimeLimits, ...options.limits } });
    if (!this.#isInteractive) setStatusTask(started); // An interactive agent owns the terminal.
    return started;
  }

  #startAccounting(): EventAccounting {
    const started: EventAccounting = accountEvents(this.#context.gear, this.#task, {
      onHalt: (halt) => {
        this.#usdAtHalt = started.spent.costUsd;
        this.#calls.onHalt(halt);
      },
      isGuardedByHooks: this.#hookReports.covers,
      isMetered: () => this.#calls.isMetered(),
      subagentLimits: this.#runTask.below,
    });
    return started;
  }

  #saveRecord(changes: Partial<RunRecord>): void {
    const { clock, gear, store } = this.#context;
    this.#savedMs = clock.nowMs();
    const carried = captureTask(gear, this.#task.id);
    const members = this.#launched.unmarkedMembers();
    this.#savedMembers = members;
    const known = members.length > 0 && { members };
    this.#record = { ...this.#record, ...changes, ...(carried && { carried }), ...known };
    writeRun(store, this.#record);
  }

  /** Watches the session files of a conversation and stores its id, with which a later attempt resumes it. */
  #watchConversation(conversation: string): void {
    const { terminal } = this.#context;
    const { agent, wallMs } = this.#launched;
    this.#conversations.add(conversation);
    this.#saveRecord({ conversation });
    this.#watch?.close();
    this.#watch = sessionWatch(agent.cli, {
      session: conversation,
      cwd: terminal.cwd,
      home: terminal.env.HOME || homedir(),
      env: terminal.env,
      besideStream: !this.#isInteractive,
      resumed: agent.session === conversation,
      sinceMs: wallMs,
    });
  }

  /** Accounts an event of the agent's stream, or of its session files. */
  feed(event: AgentEvent, source: 'stream' | 'files' = 'stream'): void {
    if (event.type === 'tool_use') this.#hasStreamCalls = true;
    if (newsEventTypes.has(event.type)) this.#pollIfDue();
    const conversation = event.type === 'session' ? event.id : undefined;
    // A tool can write to session files, so a file names the conversation only while none is known.
    const isNews = source === 'stream' || this.#record.conversation === undefined;
    if (conversation !== undefined && conversation !== this.#record.conversation && isNews)
      this.#watchConversation(conversation);
    else if (this.#context.clock.nowMs() - this.#savedMs > runSaveEveryMs) this.#saveRecord({});
    // In interactive mode each request of a person is a task of its own, with its own limits.
    if (this.#isInteractive && event.type === 'user' && event.by === 'person') {
      this.#accounting.end();
      this.#totalsBefore = addTotals(this.#totalsBefore, captureTask(this.#context.gear, this.#task.id)?.budget);
      this.#task.end();
      this.#task = this.#startTask(this.#runTask.task);
      this.#accounting = this.#startAccounting();
    }
    if (this.#accounting.halt === undefined) this.#callEvidence.feed(event);
    this.#accounting.account(event);
  }

  poll(isOver = false): void {
    this.#isPolling = true;
    for (const event of this.#attempt(() => this.#watch?.poll()) ?? []) this.#attempt(() => this.feed(event, 'files'));
    this.#attempt(() => this.#hookReports.applyHalt(this.#task));
    this.#attempt(() => this.#nestedAgents.poll(this.#hookReports.nested, this.#task));
    this.#attempt(() => this.#library.poll(isOver));
    this.#attempt(() => this.#reportToOuterRun());
    this.#isPolling = false;
    this.#polledMs = this.#context.clock.nowMs();
  }

  /** Whether a program that no reader knows runs here: the guarded calls of its code are its own calls. */
  get #isProgram(): boolean {
    return this.#launched.agent.cli === 'other';
  }

  /**
   * Books the guarded calls of library programs: as calls of the run if its command is such a program, else as those of
   * a nested agent. A program that also prints its calls is counted by its stream alone.
   */
  #bookLibrary(reported: LibraryNews): void {
    const news = this.#calls.isMetered() ? { ...reported, costs: [] } : reported;
    if (!this.#isProgram) this.#nestedAgents.bookLibrary(news, this.#task);
    else if (!this.#hasStreamCalls) bookLibraryNews(this.#task, news);
  }

  closeLibrary(): void {
    this.#attempt(() => this.#library.close());
  }

  /** A session file is written by others: a line that cannot be handled is counted, and the rest is read. */
  #attempt<T>(part: () => T): T | undefined {
    try {
      return part();
    } catch (error) {
      countError(runtimeOf(this.#context.gear), 'run', error);
      return undefined;
    }
  }

  /** Whether a session that hooks reported belongs to the agent of the run, and is not a nested agent. */
  #isOwn(conversation: string, { parents = [] }: NestedAgent): boolean {
    if (this.#conversations.has(conversation)) return true;
    const { agent, mode, child } = this.#launched;
    // An interactive agent may begin another conversation, in the same process.
    if (mode === 'interactive') return 'pid' in child && parents.includes(child.pid);
    // The stream names the conversation before its first call.
    const isNamed = agent.stream === 'events' ? agent.cli !== 'other' : agent.stream === 'asked' && mode !== 'pass';
    return isNamed && this.#conversations.size === 0;
  }

  /** Reports the totals of this run to the run around it. */
  #reportToOuterRun(): void {
    const { gear, store, terminal } = this.#context;
    if (store.shared === undefined) return;
    this.#outerRun ??= findRunAround(store, terminal.env).then(
      (run) => run?.task ?? terminal.env.SWITCHGEAR_TASK,
      () => terminal.env.SWITCHGEAR_TASK,
    );
    const budget = captureTask(gear, this.#task.id)?.budget;
    if (budget === undefined) return;
    const { calls, treeCalls = 0, micros, tokens } = addTotals(this.#totalsBefore, budget);
    const total = calls + treeCalls + micros + tokens;
    if (total === this.#reportedTotal) return;
    this.#reportedTotal = total;
    const { agent: host, task } = this.#launched.record;
    const totals = { host, calls: calls + treeCalls, micros, tokens };
    void this.#outerRun.then((outer) => (outer ? reportNestedRun(store, outer, task, totals) : undefined));
  }

  /** Reads the usage of a model call from the session files before its effects are accounted. */
  #pollIfDue(): void {
    if (this.#isPolling || this.#context.clock.nowMs() - this.#polledMs < sessionNewsMs) return;
    this.poll();
  }

  #pollRepeatedly(): void {
    this.poll();
    const isDue = this.#context.clock.nowMs() - this.#savedMs > hostRecordMs;
    if (isDue || this.#launched.unmarkedMembers() !== this.#savedMembers) this.#saveRecord({});
    this.#cancelPoll = this.#context.clock.after(sessionPollMs, () => this.#pollRepeatedly());
  }

  pause(): void {
    this.#accounting.pause();
  }

  resume(): void {
    this.#accounting.resume();
  }

  finish(how: 'done' | 'error', halt: Refusal | undefined): AttemptSummary {
    const { gear, setStatusTask } = this.#context;
    this.#cancelPoll();
    this.poll(true);
    this.#watch?.close();
    const below = this.#findBelow(halt);
    this.#accounting.end();
    const carried = captureTask(gear, this.#task.id);
    const lateUsd = halt === undefined ? 0 : this.#accounting.spent.costUsd - this.#usdAtHalt;
    const { spendUsd, ...rest } = this.#task.snapshot();
    const snapshot = { ...rest, spendUsd: spendUsd + lateUsd };
    setStatusTask(undefined);
    this.#task.end(how);
    this.#dismissNotices();
    const wasRefused = this.#hookReports.hasHalted;
    this.#hookReports.clear();
    this.#storeEnd(halt, carried, toMicros(lateUsd));
    const record = this.#record;
    const limits = carried?.limits ?? gear.settings.task;
    const { result } = this.#accounting;
    const evidence = this.#callEvidence.describe();
    return { task: record.task, snapshot, limits, evidence, record, below, result, wasRefused };
  }

  #findBelow(halt: Refusal | undefined): AttemptSummary['below'] {
    const { gear } = this.#context;
    if (halt?.task === undefined || halt.task === this.#task.id) return undefined;
    const snapshot = gear.snapshot().tasks.find(({ id }) => id === halt.task);
    const limits = captureTask(gear, halt.task)?.limits;
    return snapshot && limits && { snapshot, limits };
  }

  /** Stores a halted run for a later attempt, and deletes the record of any other. */
  #storeEnd(halt: Refusal | undefined, carried: CarriedTask | undefined, lateMicros: number): void {
    const { gear, store } = this.#context;
    if (halt === undefined || carried === undefined) {
      deleteRun(store, this.#record.task);
      return;
    }
    const carriedWithLate = addLateSpending(carried, halt, lateMicros);
    const below = raiseSubagentLimits(gear, this.#task.id, halt);
    this.#record = {
      ...this.#record,
      state: 'halted',
      carried: carriedWithLate,
      ...(below && { below: { ...this.#record.below, ...below } }),
    };
    adoptHaltedTask(gear, this.#record, carriedWithLate);
    writeRun(store, this.#record);
  }

  /** Closes the warnings about limits of a finished run, which have no use after the end; other notices stay. */
  #dismissNotices(): void {
    const { gear } = this.#context;
    const { id: taskId } = this.#task;
    for (const { id, kind, state, task, actions } of gear.snapshot().cards) {
      const belongsToRun = task === taskId || task.startsWith(`${taskId}/`);
      const isWarning = kind === 'notice' && actions.includes('pause') && actions.includes('dismiss');
      if (belongsToRun && isWarning && state === 'open') gear.cards.answer(id, 'dismiss', supervisorName);
    }
  }
}

/** The raised limits of a subagent that reached a limit of its own; undefined for a halt of the run itself. */
export function raiseSubagentLimits(
  gear: Switchgear,
  root: string,
  { task = root }: Refusal,
): SubagentLimits | undefined {
  const retry = task === root ? undefined : gear.retryOptions(task);
  return retry?.agent && retry.limits ? { [retry.agent]: retry.limits as TaskSettings } : undefined;
}
