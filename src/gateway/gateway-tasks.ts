/** The tasks of the requests of a gateway: started at the first request, ended after a time without any. */

import type { TaskSettings } from '../core/settings.ts';
import { endTask, type Runtime, startTask, type TaskState } from '../guard/internal.ts';
import { withoutReserve } from './closing-call.ts';
import { createTaskHalts } from './halts/task-halts.ts';
import { createNewTaskWatch } from './keys/new-tasks.ts';
import { gatewayTasksMax, namedTaskIdleMs, unnamedTaskIdleMs } from './limits.ts';
import type { TaskIdentity } from './task-identity.ts';
import type { TaskLedger, TaskSpend } from './task-ledger.ts';

interface KnownTask {
  readonly task: TaskState;
  readonly idleMs: number;
  usedAtMs: number;
}

/**
 * How the calls of tools in a conversation are watched: they count; only loops are looked for, since another reader
 * counts the calls; or not at all.
 */
export type Watching = 'count' | 'loops' | 'none';

export interface GatewayTasks {
  /** The task of a request; a promise if the store must be asked what it has spent before. */
  find(identity: TaskIdentity): TaskState | Promise<TaskState>;
  /**
   * How the tools of a conversation are watched; called with each of its requests, the first of the task first.
   * @default they count
   */
  watching?(name: string): Watching;
  /** The task below it in which the tools of one conversation are watched. */
  findConversation(task: TaskState, name: string): TaskState;
  /** Called when a call of a task begins. */
  goOn?(task: TaskState): void;
  /** Called when the gateway ends. */
  close?(): void;
  /** Called after a conversation was looked at, which may have halted. */
  endConversation?(task: TaskState, conversation: TaskState): void;
}

export function createGatewayTasks(
  runtime: Runtime,
  options: { readonly limits: Partial<TaskSettings> },
  ledger: TaskLedger | undefined,
): GatewayTasks {
  /** By id; the least recently used one comes first. */
  const known = new Map<string, KnownTask>();
  /** Tasks whose spending is being read. */
  const loading = new Map<string, Promise<TaskState>>();
  let started = 0;
  const watchNewTask = createNewTaskWatch(runtime);
  const halts = createTaskHalts(runtime);

  function isIdle({ usedAtMs, idleMs, task }: KnownTask, atMs: number): boolean {
    return task.ended || (atMs - usedAtMs > idleMs && !runsCall(task));
  }

  /** Ends tasks without requests, and, of too many, one more. */
  function makeRoom(atMs: number): void {
    for (const [id, each] of known) {
      if (!isIdle(each, atMs)) break;
      forget(id, each);
    }
    if (known.size < gatewayTasksMax) return;
    const spare = findSpare();
    if (spare !== undefined) forget(...spare);
  }

  /** The least recently used task that is not halted, runs no call and has none below it; else the first one. */
  function findSpare(): [string, KnownTask] | undefined {
    let first: [string, KnownTask] | undefined;
    for (const each of known) {
      first ??= each;
      const { task } = each[1];
      if (task.haltStop === undefined && !task.children?.size && !runsCall(task)) return each;
    }
    return first;
  }

  function forget(id: string, { task }: KnownTask): void {
    known.delete(id);
    endTask(runtime, task);
  }

  /** A known task, which is used now. */
  function use(id: string): TaskState | undefined {
    const atMs = runtime.clock.nowMs();
    const found = known.get(id);
    if (found === undefined) return undefined;
    if (found.task.haltStop !== undefined) handBack(found.task);
    if (isIdle(found, atMs)) {
      forget(id, found);
      return undefined;
    }
    found.usedAtMs = atMs;
    known.delete(id);
    known.set(id, found);
    return found.task;
  }

  /** Ends a halted task that a person has handed back, so that its next request begins a new one. */
  function handBack(task: TaskState): void {
    const found = halts.findHandedBack(task);
    if (found === undefined) return;
    for (const [id, { task: each }] of known) if (each === found.task) halts.handBack(id, found.card);
    endTask(runtime, found.task);
  }

  function findAbove(identity: TaskIdentity): TaskState | undefined {
    const { parent } = identity;
    return parent === undefined ? undefined : (use(parent) ?? open(aboveOf(identity, parent)));
  }

  function open(identity: TaskIdentity, spent?: TaskSpend, above = findAbove(identity)): TaskState {
    const { id, agent, session, isNamed, isConversation = false, client, key } = identity;
    const atMs = runtime.clock.nowMs();
    makeRoom(atMs);
    // A key that was idle begins a new task, whose id must not be that of the last one.
    const own = isNamed && !runtime.halted.has(id) ? id : `${id}-${(++started).toString(36)}${runtime.idStem}`;
    const task = startTask(
      runtime,
      {
        ...(above === undefined ? { parent: null } : { parent: above.id, delegated: !isConversation }),
        ...{ id: own, agent, limits: withoutReserve(runtime, options.limits) },
        ...(session !== undefined && { session }),
        ...(spent && { spent }),
        ...(key && { key }),
      },
      undefined,
    );
    if (isNamed && above === undefined && client !== undefined) watchNewTask(client, own);
    const idleMs = isNamed ? namedTaskIdleMs : unnamedTaskIdleMs;
    if (spent !== undefined) {
      ledger?.follow(task, { id, keepMs: idleMs }, spent);
      halts.follow(task, id, idleMs);
    }
    known.set(id, { task, idleMs, usedAtMs: atMs });
    return task;
  }

  async function load(identity: TaskIdentity): Promise<TaskState> {
    const { id, parent } = identity;
    if (parent !== undefined) await find(aboveOf(identity, parent));
    const spent = await halts.load(id, ledger!);
    return use(id) ?? open(identity, spent);
  }

  function find(identity: TaskIdentity): TaskState | Promise<TaskState> {
    const { id } = identity;
    const found = use(id);
    if (found !== undefined) return found;
    if (ledger === undefined) return open(identity);
    const loaded = loading.get(id) ?? load(identity).finally(() => loading.delete(id));
    loading.set(id, loaded);
    return loaded;
  }

  return {
    find,
    goOn: halts.goOn,
    close: halts.close,
    findConversation(task, name) {
      const identity = { id: `${task.id}~${name}`, agent: task.agent, isNamed: true, isConversation: true };
      // The task itself, since that of a key is known by the name of the key and not by its id.
      const found = use(identity.id) ?? open(identity, undefined, task);
      // Its history would bring the same halt again: a person begins another conversation.
      found.haltActions = ['dismiss'];
      return found;
    },
  };
}

function runsCall({ cells }: TaskState): boolean {
  return cells.budget.state.reservedTokens > 0;
}

function aboveOf(identity: TaskIdentity, id: string): TaskIdentity {
  return { ...identity, id, parent: undefined };
}
