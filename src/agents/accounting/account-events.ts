/** Books what an agent says on the tasks of a gear: each call, model call and subagent once, whoever tells it first. */

import { recent } from '../../core/bounded.ts';
import { SwitchgearError } from '../../core/error.ts';
import { countedIdsMax, signEveryMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { TaskSettings } from '../../core/settings.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { countError } from '../../guard/journal/journal.ts';
import { runtimeOf } from '../../guard/runtime/runtime.ts';
import { priceUsage } from '../../guard/tasks/cost.ts';
import { halt } from '../../guard/tasks/halt.ts';
import { entryPlace } from '../../guard/tasks/task.ts';
import { unknownTaskMessage } from '../../guard/tasks/task-tree.ts';
import type { AgentEvent, AssistantEvent, ResultEvent, ToolResultEvent, ToolUseEvent } from '../reading/agent-event.ts';
import { nameOf } from '../reading/reader.ts';
import { readsFailed } from '../reading/shell-failure.ts';
import { wholeTexts } from './joined-texts.ts';
import { leaveLoops } from './loops-left-to-hooks.ts';
import { callWatch } from './observed-call.ts';
import { outCalls } from './open-calls.ts';
import { subagentTasks } from './subagent-tasks.ts';
import { type Charge, type TokenSpend, usageLedger } from './usage-ledger.ts';

export interface BookingOptions {
  /** Called once, at whatever moment a limit is reached: the process has to be ended. */
  readonly onHalt?: (halt: Refusal) => void;
  /** Whether others refuse the calls of a tool that repeat: then they are not halted for it here, or later. */
  readonly isTheirs?: (tool: string) => boolean;
  /** Limits of subagents by their names, where they are not those of the policy. */
  readonly below?: Readonly<Record<string, Partial<TaskSettings>>> | undefined;
}

export interface Booking {
  /** Books an event. A halt comes back once there is one; it never throws. */
  tell(event: AgentEvent): Refusal | undefined;
  /**
   * What ends the run: a halt of its task, or of a subagent, which cannot be ended without the process that it is in.
   * Its `task` says whose it is.
   */
  readonly halt: Refusal | undefined;
  /** The session of the agent's own, to go on with it later, and its model. */
  readonly session: string | undefined;
  readonly model: string | undefined;
  /** The last answer. */
  readonly result: ResultEvent | undefined;
  /** All that was used, also after a halt. */
  readonly spent: TokenSpend;
  /** Tasks of subagents, those that ended included. */
  readonly subagents: readonly Task[];
  /** The process stands still: neither it nor its subagents are idle, and no time is counted. */
  pause(): void;
  resume(): void;
  /** The process is gone: what is open is closed. The task itself is its owner's to end. */
  end(): void;
}

const told: ReadonlySet<AgentEvent['type']> = new Set(['session', 'usage', 'total', 'result'] as const);

/** Begins to book on a task, which its owner started and ends. */
export function bookOn(gear: Switchgear, task: Task, { onHalt, isTheirs, below }: BookingOptions = {}): Booking {
  const runtime = runtimeOf(gear);
  const { clock } = runtime;
  const rootNode = runtime.tasks.get(task.id);
  if (rootNode === undefined) throw new SwitchgearError('unknown_task', unknownTaskMessage(task.id));
  const root = rootNode;
  const place = entryPlace(root);
  const seen = recent<true>(countedIdsMax);
  const texts = wholeTexts(speak);
  const signs = new WeakMap<Task, number>();
  const watch = callWatch(runtime);
  const out = outCalls(clock);
  const ledger = usageLedger((usage) => priceUsage(runtime, usage, place).micros);
  let halted: Refusal | undefined;
  let paused: readonly Task[] = [];
  let session: string | undefined;
  let model: string | undefined;
  let result: ResultEvent | undefined;

  function noteHalt(of: Task): void {
    if (halted !== undefined || of.halt === undefined) return;
    halted = of.halt;
    try {
      onHalt?.(halted);
    } catch (error) {
      countError(runtime, 'onHalt', error);
    }
  }

  const heed = (each: Task) => {
    const node = runtime.tasks.get(each.id);
    if (node !== undefined && isTheirs !== undefined) leaveLoops(node, isTheirs);
    if (each.halt !== undefined) noteHalt(each);
    else each.signal.addEventListener('abort', () => noteHalt(each), { once: true });
  };
  const subagents = subagentTasks({ gear, runtime, root: task, rootNode: root, below }, heed, (id) =>
    out.step(id, task, false),
  );
  heed(task);

  function stop(due: Stop | undefined, name: string): void {
    if (due !== undefined) halt(runtime, root, due, name, clock.nowMs());
  }

  /** One sign of life is like another: a flood of them is told now and then. */
  function sign(of: Task): void {
    const nowMs = clock.nowMs();
    if (nowMs - (signs.get(of) ?? Number.NEGATIVE_INFINITY) < signEveryMs) return;
    signs.set(of, nowMs);
    of.observe({ type: 'heartbeat' });
  }

  function call({ id, name, input, agent, message }: ToolUseEvent): void {
    const of = subagents.taskOf(agent);
    if (seen.get(id) === true) {
      sign(of);
      return;
    }
    seen.set(id, true);
    const tool = nameOf(name);
    const watched = watch(id, tool, input);
    out.open(id, of, agent, message, watched);
    of.observe({ type: 'tool_use', id, name: tool, input: input ?? {} });
    stop(watched.stop, tool);
  }

  function returned({ id, ok: told, output, agent }: ToolResultEvent): void {
    const open = out.close(id);
    if (open === undefined) {
      sign(subagents.taskOf(agent));
      return;
    }
    const ok = told ?? !readsFailed(output);
    open.watched.settle({ ok, output });
    open.task.observe({ type: 'tool_result', id, ok, output });
  }

  function spend(more: Charge | undefined, agent: string | undefined): void {
    const of = subagents.taskOf(agent);
    if (more === undefined) {
      sign(of);
      return;
    }
    const { micros, ...usage } = more;
    // Half a millionth less: rounded up again, it is the whole number that it was.
    of.observe({ type: 'usage', ...usage, costUsd: Math.max(0, micros - 0.5) / 1_000_000 });
  }

  function speak({ text, toolUse, agent }: AssistantEvent): void {
    const told = toolUse === undefined ? {} : { toolUse };
    subagents.taskOf(agent).observe({ type: 'assistant', text, ...told });
  }

  /** Usage without a model is the session's. */
  function named<E extends { readonly model?: string }>(event: E): E {
    return event.model === undefined && model !== undefined ? { ...event, model } : event;
  }

  function take(event: AgentEvent): void {
    const agent = 'agent' in event ? event.agent : undefined;
    switch (event.type) {
      case 'session':
        session = event.id ?? session;
        model = event.model ?? model;
        sign(task);
        break;
      case 'assistant':
        if (event.piece === true) {
          texts.add(event);
          sign(subagents.taskOf(agent));
          break;
        }
        texts.close(agent);
        out.passed(agent, event.message);
        speak(event);
        break;
      case 'tool_use':
        texts.close(agent);
        out.passed(agent, event.message);
        call(event);
        break;
      case 'tool_result':
        returned(event);
        break;
      case 'usage':
        spend(ledger.call(named(event)), agent);
        break;
      case 'total':
        spend(ledger.total(named(event)), agent);
        break;
      case 'user':
        texts.close(agent);
        if (event.by === 'harness') sign(subagents.taskOf(agent));
        else subagents.taskOf(agent).observe({ type: 'user', text: event.text });
        break;
      case 'subagent_started':
        stop(subagents.start(event), event.name ?? 'subagent');
        // What it does is not shown: it is out like a call.
        if (event.hidden === true) out.step(event.id, subagents.taskOf(event.id), true);
        break;
      case 'subagent_ended':
        texts.close(event.id);
        subagents.end(event);
        break;
      case 'step':
        texts.close(agent);
        out.step(agent, subagents.taskOf(agent), event.on);
        sign(subagents.taskOf(agent));
        break;
      case 'result':
        texts.close(undefined);
        result = event;
        sign(task);
        break;
      case 'heartbeat':
      case 'output':
      case 'notice':
        sign(subagents.taskOf(agent));
        break;
    }
  }

  return {
    tell(event) {
      try {
        // After a halt only what it cost, and how it ended, is of interest.
        if (halted === undefined || told.has(event.type)) take(event);
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
      return ledger.spent;
    },
    get subagents() {
      return subagents.tasks;
    },
    pause() {
      if (paused.length > 0) return;
      paused = [task, ...subagents.out()];
      for (const each of paused) each.pause();
    },
    resume() {
      const held = paused;
      paused = []; // Whoever hears that the task goes on may say so again.
      for (const each of held) each.resume();
    },
    end() {
      texts.end();
      out.end();
      subagents.endAll();
    },
  };
}
