/** Opens the store and the policy of `switchgear mcp`, and makes the judge of its session. */

import { cardApprover } from '../../approvers/card-approver.ts';
import { firstAnswer } from '../../approvers/first-answer.ts';
import { unlimited } from '../../core/declare/setting.ts';
import { secsMax } from '../../core/limits.ts';
import type { Settings, TaskSettings } from '../../core/settings.ts';
import {
  assembleSwitchgear,
  countError,
  endTask,
  onHalt,
  type Runtime,
  runCallsVariable,
  runtimeOf,
  startTask,
  type TaskState,
  withRunCalls,
} from '../../guard/internal.ts';
import type { SessionClient } from '../../mcp/elicitation.ts';
import { createJudge, type Judge } from '../../mcp/judge.ts';
import { callSecs } from '../../mcp/limits.ts';
import { openToolPins } from '../../mcp/tool-pins.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { PolicyEngine } from '../../ports/policy.ts';
import type { Store } from '../../ports/store.ts';
import { memoryStore } from '../../stores/memory.ts';
import { findRunAround } from '../../supervisor/guarded-agents.ts';
import { reportHookHalt } from '../../supervisor/hook-mailbox.ts';
import type { ConnectionEnds } from '../../supervisor/peer-process.ts';
import { readProcessChain } from '../../supervisor/process-chain.ts';
import type { ProcessInfo } from '../../supervisor/process-table.ts';
import { isAlive, type RunRecord, readStoredRun } from '../../supervisor/run-record.ts';
import { makeStoreWithoutHalts } from '../../supervisor/store-beside-run.ts';
import type { Terminal } from '../command.ts';
import { loadHookPolicy } from '../hook/session-policy.ts';
import { placeBelowHost } from '../policy/host-place.ts';
import { placeOnStore } from '../policy/load-policy.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import type { McpCommandOptions } from './options.ts';
import { createProxyClients } from './proxy-clients.ts';

/** The judges of one process: one for each session of a client, on one store. */
export interface Judges {
  /** Records the client of a connection as a guarded agent, or once the store is open. */
  noteClient(connection: ConnectionEnds): Promise<void> | undefined;
  /** Records a server that has joined the servers, if the store is open. */
  noteServer(server: ProcessInfo): void;
  /** Opens the judge of a session, until it has ended. The first one opens the store; after a failure, the next one. */
  open(client: SessionClient, ended?: Promise<unknown>): Promise<Judge>;
  /** Closes the store, after what is to be written there was written. */
  close(): Promise<void>;
}

/** @param servers The servers that this process has started. */
export function createJudges(options: McpCommandOptions, terminal: Terminal, servers: Set<ProcessInfo>): Judges {
  const closing = Promise.withResolvers<void>();
  const disposals = new Set<() => void>();
  let opening: Promise<Store> | undefined;
  let closed: Promise<void> | undefined;
  const clients = createProxyClients(options, servers);
  const openStore = (): Promise<Store> => {
    const opened = Promise.withResolvers<Store>();
    const work = async (store: Store) => {
      opened.resolve(store);
      await closing.promise;
      await store.shared?.settled();
      for (const dispose of disposals) dispose();
      await store.shared?.settled(); // The ends of the tasks.
    };
    const { parsedArgs } = options;
    const isMemory = (parsedArgs.values.get('--store') ?? terminal.env.SWITCHGEAR_STORE) === 'memory';
    const working = isMemory
      ? work(memoryStore(systemClock))
      : withStore(findStoreAddress(parsedArgs, terminal), work, { verify: false, onLoss: terminal.err });
    closed = working.catch(opened.reject);
    return opened.promise;
  };
  return {
    async open(client, ended) {
      opening ??= openStore().catch((error: unknown) => {
        opening = undefined; // The next call or list tries again.
        throw error;
      });
      const store = await opening;
      await clients.record(store, client.name);
      const { judge, dispose } = await makeJudge(store, options, terminal, client, clients.host);
      disposals.add(dispose);
      void ended?.then(() => {
        if (disposals.delete(dispose)) dispose();
      });
      return judge;
    },
    noteClient: clients.note,
    noteServer: clients.noteServer,
    async close() {
      closing.resolve();
      await closed;
    },
  };
}

async function makeJudge(
  store: Store,
  { parsedArgs, name, agent, session, server, listen }: McpCommandOptions,
  terminal: Terminal,
  client: SessionClient,
  host: ProcessInfo | undefined,
): Promise<{ readonly judge: Judge; readonly dispose: () => void }> {
  const { env } = terminal;
  const policyOption = parsedArgs.values.get('--policy');
  const run = await findRun(store, env, listen === undefined);
  const place = host === undefined ? placeOnStore(store, terminal) : placeBelowHost(store, env, host, run);
  const { policy, inForce } = await loadHookPolicy(policyOption, terminal, place);
  const isInRun = run !== undefined;
  const ownStore = keepOpen(store);
  const gear = assembleSwitchgear(
    {
      agent: agent ?? client.name ?? 'mcp-client',
      session: session ?? (env.SWITCHGEAR_SESSION || run?.session || `mcp-${uniqueId()}`),
      store: isInRun ? makeStoreWithoutHalts(ownStore) : ownStore,
      ...(policy && { policy }),
      approver: firstAnswer(client.approver, cardApprover({ store })),
      env: {},
      project: inForce?.folder ?? terminal.cwd,
      log: 'silent',
    },
    {
      ...((policy || run?.calls) && { policyEngine: await loadPolicyEngine(run?.calls) }),
      settings: (settings) => allowLongCalls(settings, policy),
      // The run counts all calls of its agent on joint budgets, but must be told those of a program.
      spendsJointBudgets: !isInRun || run.calls !== undefined,
      // A run acts on the answer to its own card.
      haltActions: isInRun ? ['dismiss'] : ['replan', 'dismiss'],
      layer: 'mcp',
      limitQuestions: 'none',
    },
  );
  const runtime = runtimeOf(gear);
  const pins = await openToolPins(runtime, name, server.kind === 'command' ? server.command : [server.url.href]);
  // Clients by HTTP are not above this process.
  const listHosts = () => (listen === undefined ? readProcessChain().links : []);
  const findTask = createTaskFinder(runtime, () => {
    const started = startTask(runtime, { parent: null, limits: makeTaskLimits(policy, isInRun) }, undefined);
    if (isInRun) onHalt(started, () => void reportHalt(runtime, store, run, started));
    return started;
  });
  return {
    judge: createJudge(runtime, name, findTask, listHosts, pins),
    dispose: () => gear.dispose(),
  };
}

/**
 * Finds the task of a session, which may last for days: a halted task is replaced by a new one after a person has
 * answered its card with `replan`.
 */
function createTaskFinder(runtime: Runtime, start: () => TaskState): () => TaskState {
  let task: TaskState | undefined;
  return () => {
    if (task !== undefined && isHandedBack(runtime, task)) {
      endTask(runtime, task);
      task = undefined;
    }
    task ??= start();
    return task;
  };
}

function isHandedBack({ store }: Runtime, { haltStop, card }: TaskState): boolean {
  if (haltStop === undefined || card === undefined) return false;
  store.shared?.refresh();
  return store.card(card)?.answer === 'replan';
}

/** The store as a gear of one session has it, which must not close it for the others at its end. */
function keepOpen(store: Store): Store {
  return Object.create(store, { close: { value: () => {} } }) as Store;
}

/**
 * Finds the run around this process: by the processes above it, since clients start servers with few of their
 * variables, or by its variable.
 * @param isBelow Whether the clients are above this process.
 */
async function findRun(store: Store, env: Terminal['env'], isBelow: boolean): Promise<RunRecord | undefined> {
  const around = isBelow && store.shared !== undefined ? await findRunAround(store, env) : undefined;
  const run = around ?? (env.SWITCHGEAR_TASK ? await readStoredRun(store, env.SWITCHGEAR_TASK) : undefined);
  return run?.state === 'running' && isAlive(run.owner) ? run : undefined;
}

/** The engine of the policy. Below a program it counts calls for the run, in place of the joint budgets. */
async function loadPolicyEngine(calls: string | undefined): Promise<PolicyEngine> {
  const { policyEngine } = await import('../../guard/create-switchgear.ts');
  if (calls === undefined) return policyEngine;
  return {
    ...policyEngine,
    apply(input, env) {
      const budgets = withRunCalls(undefined, policyEngine.createEmptyBudgets, { [runCallsVariable]: calls });
      return { ...policyEngine.apply(input ?? {}, env), budgets };
    },
  };
}

/** Tells the run that its agent must end: the run halts with the same reason, and has the card. */
async function reportHalt(
  runtime: Runtime,
  store: Store,
  run: RunRecord,
  { haltStop, halt }: TaskState,
): Promise<void> {
  // The run reads the number of calls itself, and an operator has told each task.
  if (haltStop === undefined || haltStop.control === 'operator' || haltStop.code === 'tool_call_limit') return;
  try {
    await reportHookHalt(store, run.task, { stop: haltStop, name: halt?.name ?? '' });
  } catch (error) {
    countError(runtime, 'run', error);
  }
}

/** Whether a policy sets a setting, in general or for an agent. */
function isSet(policy: CheckedPolicy | undefined, path: string): boolean {
  return [...(policy?.provenance ?? [])].some(
    ([each, { source }]) => source !== 'default' && (each === path || each.endsWith(`.${path}`)),
  );
}

/** Tools of MCP servers may take minutes: the general time limit holds only if the policy sets it. */
function allowLongCalls(settings: Settings, policy: CheckedPolicy | undefined): Settings {
  if (isSet(policy, 'circuit_breaker.timeout_secs')) return settings;
  return { ...settings, circuitBreaker: { ...settings.circuitBreaker, timeoutSecs: callSecs } };
}

/**
 * The limits of a session, which may last for days and hold many pieces of work: calls and time are limited only if the
 * policy says so.
 */
function makeTaskLimits(policy: CheckedPolicy | undefined, isInRun: boolean): Partial<TaskSettings> {
  const isOff = (path: string) => isInRun || !isSet(policy, `task.${path}`);
  return {
    ...(isOff('max_tool_calls') && { maxToolCalls: unlimited }),
    ...(isOff('max_duration_secs') && { maxDurationSecs: secsMax }),
    ...(isOff('max_idle_secs') && { maxIdleSecs: secsMax }),
  };
}
