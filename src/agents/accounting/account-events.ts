/**
 * Counts the events of an agent on the tasks of a gear: each call, model call and subagent once, even if several
 * sources report it.
 */

import { createRecentMap } from '../../core/bounded.ts';
import { SwitchgearError } from '../../core/error.ts';
import { countedIdsMax, signEveryMs } from '../../core/limits.ts';
import { toUsd } from '../../core/prices/builtin-prices.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import { callUnawaited } from '../../core/thenable.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { createCallObserver } from '../../guard/entries/observed-call.ts';
import { countError, entryPlace, halt, priceUsage, runtimeOf, unknownTaskMessage } from '../../guard/internal.ts';
import type {
  AgentEvent,
  AssistantEvent,
  ResultEvent,
  Tokens,
  ToolResultEvent,
  ToolUseEvent,
} from '../reading/agent-event.ts';
import { asKeyName } from '../reading/reader.ts';
import { looksLikeFailure } from '../reading/shell-failure.ts';
import { trackCallRounds } from './call-rounds.ts';
import { joinTexts } from './joined-texts.ts';
import { leaveLoopsToHooks } from './loops-left-to-hooks.ts';
import { trackPendingCalls } from './pending-calls.ts';
import { subagentTasks } from './subagent-tasks.ts';
import { createUsageLedger, type UsageCharge } from './usage-ledger.ts';

/** Options of `accountEvents`. */
export interface AccountingOptions {
  /**
   * Called once, when a limit is reached and the process must be ended.
   * @default none
   */
  readonly onHalt?: (halt: Refusal) => void;
  /**
   * Whether hooks refuse repeated calls of this tool. If so, a loop of the tool does not halt the run, or only later.
   * @default none: repeats are halted
   */
  readonly isGuardedByHooks?: (tool: string) => boolean;
  /**
   * Whether something else meters the model calls, such as a gateway. Usage in the events then counts nowhere.
   * @default none: usage is counted
   */
  readonly isMetered?: () => boolean;
  /**
   * Limits of subagents by name, if they differ from the policy.
   * @default the policy's
   */
  readonly subagentLimits?: Readonly<Record<string, Partial<TaskSettings>>> | undefined;
}

/** Token counts and their cost in US dollars. */
export interface TokenSpend extends Tokens {
  readonly costUsd: number;
}

/** Counts agent events on a task and on the tasks of its subagents. */
export interface EventAccounting {
  /** Counts an event. Returns the halt once there is one; never throws. */
  account(event: AgentEvent): Refusal | undefined;
  /**
   * The refusal that ends the run: a halt of its task or of a subagent, whose process is that of the run. `task`
   * names the halted task.
   */
  readonly halt: Refusal | undefined;
  /** The agent's own session id, for resuming it later, and its model. */
  readonly session: string | undefined;
  readonly model: string | undefined;
  /** The last answer. */
  readonly result: ResultEvent | undefined;
  /** The total usage, including usage after a halt. */
  readonly spent: TokenSpend;
  /** The tasks of all subagents, including those that ended. */
  readonly subagents: readonly Task[];
  /** Pauses the task and its subagents while the process is suspended. */
  pause(): void;
  resume(): void;
  /** Closes open calls and subagents after the process ended. The caller ends the task itself. */
  end(): void;
}

const countedAfterHalt: ReadonlySet<AgentEvent['type']> = new Set(['session', 'usage', 'total', 'result'] as const);

/**
 * Starts to count events on a task, which the caller starts and ends.
 * @example
 * import { createInterface } from 'node:readline';
 * import { createSwitchgear } from 'switchgear';
 * import { accountEvents, claudeCodeReader } from 'switchgear/agents';
 *
 * const gear = createSwitchgear();
 * const accounting = accountEvents(gear, gear.startTask(), { onHalt: (halt) => console.log(halt.message) });
 * const reader = claudeCodeReader();
 * for await (const line of createInterface(process.stdin)) reader.read(line).forEach(accounting.account);
 */
export function accountEvents(
  gear: Switchgear,
  task: Task,
  { onHalt, isGuardedByHooks, isMetered, subagentLimits }: AccountingOptions = {},
): EventAccounting {
  const runtime = runtimeOf(gear);
  const { clock } = runtime;
  const rootNode = runtime.tasks.get(task.id);
  if (rootNode === undefined) throw new SwitchgearError('unknown_task', unknownTaskMessage(task.id));
  const root = rootNode;
  const place = entryPlace(root);
  const countedCalls = createRecentMap<true>(countedIdsMax);
  const rounds = trackCallRounds();
  const texts = joinTexts(observeText);
  const heartbeatsAtMs = new WeakMap<Task, number>();
  const observeCall = createCallObserver(runtime);
  const pendingCalls = trackPendingCalls(clock);
  const ledger = createUsageLedger((usage) => priceUsage(runtime, usage, place).micros);
  let halted: Refusal | undefined;
  let pausedTasks: readonly Task[] = [];
  let session: string | undefined;
  let model: string | undefined;
  let result: ResultEvent | undefined;

  function reportHalt(owner: Task): void {
    if (halted !== undefined || owner.halt === undefined) return;
    const reason = owner.halt;
    halted = reason;
    callUnawaited(
      () => onHalt?.(reason),
      (error) => countError(runtime, 'onHalt', error),
    );
  }

  const watchTask = (each: Task) => {
    const node = runtime.tasks.get(each.id);
    if (node !== undefined && isGuardedByHooks !== undefined) leaveLoopsToHooks(node, isGuardedByHooks);
    if (each.halt !== undefined) reportHalt(each);
    else each.signal.addEventListener('abort', () => reportHalt(each), { once: true });
  };
  const subagents = subagentTasks({ gear, runtime, root: task, rootNode: root, subagentLimits }, watchTask, (id) =>
    pendingCalls.setStep(id, task, false),
  );
  watchTask(task);

  function haltRun(stop: Stop | undefined, name: string): void {
    if (stop !== undefined) halt(runtime, root, stop, name, clock.nowMs());
  }

  /** Reports signs of life at a limited rate, because they are all alike. */
  function observeHeartbeat(owner: Task): void {
    const nowMs = clock.nowMs();
    if (nowMs - (heartbeatsAtMs.get(owner) ?? Number.NEGATIVE_INFINITY) < signEveryMs) return;
    heartbeatsAtMs.set(owner, nowMs);
    owner.observe({ type: 'heartbeat' });
  }

  function accountCall(event: ToolUseEvent): void {
    const { name, input, agent, message } = event;
    const id = rounds.keyOfCall(event);
    const owner = subagents.taskOf(agent);
    if (countedCalls.get(id) === true) {
      observeHeartbeat(owner);
      return;
    }
    countedCalls.set(id, true);
    const tool = asKeyName(name);
    const observed = observeCall(id, tool, input);
    pendingCalls.open(id, { task: owner, tool, agent, message, observed });
    owner.observe({ type: 'tool_use', id, name: tool, input: input ?? {} });
    haltRun(observed.stop, tool);
  }

  function accountResult(event: ToolResultEvent): void {
    const { ok: reported, output, agent, tookMs } = event;
    const id = rounds.keyOfResult(event, pendingCalls.has);
    const open = pendingCalls.close(id);
    if (open === undefined) {
      observeHeartbeat(subagents.taskOf(agent));
      return;
    }
    const ok = reported ?? !looksLikeFailure(output, open.tool);
    open.observed.settle({ ok, output });
    open.task.observe({ type: 'tool_result', id, ok, output, ...(tookMs !== undefined && { tookMs }) });
  }

  function accountCharge(charge: UsageCharge | undefined, agent: string | undefined): void {
    const owner = subagents.taskOf(agent);
    if (charge === undefined) {
      observeHeartbeat(owner);
      return;
    }
    const { micros, ...usage } = charge;
    // Subtract half a millionth of a dollar, so that rounding up gives the same whole number again.
    owner.observe({ type: 'usage', ...usage, costUsd: Math.max(0, micros - 0.5) / 1_000_000 });
  }

  function observeText({ text, toolUse, agent }: AssistantEvent): void {
    const reported = toolUse === undefined ? {} : { toolUse };
    const owner = subagents.taskOf(agent);
    owner.observe({ type: 'assistant', text, ...reported });
    // Words that heartbeats share out over tasks are still repeated by one program.
    if (owner !== task && subagents.isPart(agent)) task.observe({ type: 'assistant', text });
  }

  /** Usage without a model is of the session's model. */
  function withSessionModel<E extends { readonly model?: string }>(event: E): E {
    return event.model === undefined && model !== undefined ? { ...event, model } : event;
  }

  function accountEvent(event: AgentEvent): void {
    const agent = 'agent' in event ? event.agent : undefined;
    switch (event.type) {
      case 'session':
        session = event.id ?? session;
        model = event.model ?? model;
        observeHeartbeat(task);
        break;
      case 'assistant':
        if (event.piece === true) {
          texts.add(event);
          observeHeartbeat(subagents.taskOf(agent));
          break;
        }
        texts.close(agent);
        pendingCalls.closeEarlier(agent, event.message);
        observeText(event);
        break;
      case 'tool_use':
        texts.close(agent);
        pendingCalls.closeEarlier(agent, event.message);
        accountCall(event);
        break;
      case 'tool_result':
        accountResult(event);
        break;
      case 'usage':
        accountCharge(isMetered?.() ? undefined : ledger.countCall(withSessionModel(event)), agent);
        break;
      case 'total':
        accountCharge(isMetered?.() ? undefined : ledger.countTotal(withSessionModel(event)), agent);
        break;
      case 'user':
        texts.close(agent);
        if (event.by === 'harness') observeHeartbeat(subagents.taskOf(agent));
        else subagents.taskOf(agent).observe({ type: 'user', text: event.text });
        break;
      case 'subagent_started':
        haltRun(subagents.start(event), event.name ?? 'subagent');
        // The stream does not show the steps of a hidden subagent, so the subagent counts as one pending call.
        if (event.hidden === true) pendingCalls.setStep(event.id, subagents.taskOf(event.id), true);
        break;
      case 'subagent_ended':
        texts.close(event.id);
        subagents.end(event);
        break;
      case 'step':
        texts.close(agent);
        pendingCalls.setStep(agent, subagents.taskOf(agent), event.on);
        observeHeartbeat(subagents.taskOf(agent));
        break;
      case 'result':
        texts.close(undefined);
        result = event;
        observeHeartbeat(task);
        break;
      case 'heartbeat':
      case 'output':
      case 'notice':
        observeHeartbeat(subagents.taskOf(agent));
        break;
    }
  }

  return {
    account(event) {
      try {
        // After a halt only usage and results are counted.
        if (halted === undefined || countedAfterHalt.has(event.type)) accountEvent(event);
      } catch (error) {
        countError(runtime, 'agents', error);
      }
      return halted;
    },
    get halt() {
      return halted;
    },
    get session() {
      return session;
    },
    get model() {
      return model;
    },
    get result() {
      return result;
    },
    get spent() {
      const { micros, ...tokens } = ledger.spent;
      return { ...tokens, costUsd: toUsd(micros) };
    },
    get subagents() {
      return subagents.tasks;
    },
    pause() {
      if (pausedTasks.length > 0) return;
      pausedTasks = [task, ...subagents.running()];
      for (const each of pausedTasks) each.pause();
    },
    resume() {
      const resumedTasks = pausedTasks;
      pausedTasks = []; // Cleared first: a listener of `task-resumed` may call resume again.
      for (const each of resumedTasks) each.resume();
    },
    end() {
      texts.end();
      pendingCalls.end();
      subagents.endAll();
    },
  };
}
