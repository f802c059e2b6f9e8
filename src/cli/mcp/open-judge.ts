/** Opens the store and the policy of `switchgear mcp`, and makes the judge of its session. */

import { cardApprover } from '../../approvers/card-approver.ts';
import { firstAnswer } from '../../approvers/first-answer.ts';
import { unlimited } from '../../core/declare/setting.ts';
import { secsMax } from '../../core/limits.ts';
import type { Settings, TaskSettings } from '../../core/settings.ts';
import { assembleSwitchgear, runtimeOf, startTask, type TaskState } from '../../guard/internal.ts';
import type { SessionClient } from '../../mcp/elicitation.ts';
import { createJudge, type Judge } from '../../mcp/judge.ts';
import { callSecs } from '../../mcp/limits.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { Store } from '../../ports/store.ts';
import { memoryStore } from '../../stores/memory.ts';
import { readProcessChain } from '../../supervisor/process-chain.ts';
import { isAlive, readStoredRun } from '../../supervisor/run-record.ts';
import type { ParsedArgs, Terminal } from '../command.ts';
import { loadHookPolicy } from '../hook/session-policy.ts';
import { placeOnStore } from '../policy/load-policy.ts';
import { findStoreAddress, withStore } from '../store-option.ts';

export interface McpCommandOptions {
  readonly parsedArgs: ParsedArgs;
  readonly command: readonly string[];
  /** The name of the server. */
  readonly name: string;
  readonly agent: string | undefined;
  readonly session: string | undefined;
  readonly restarts: boolean;
}

export interface OpenedJudge {
  readonly judge: Promise<Judge>;
  /** Resolves when the store is closed. */
  readonly closed: Promise<void>;
}

/**
 * Opens the judge. The store stays open until `closing` resolves.
 */
export function openJudge(
  options: McpCommandOptions,
  terminal: Terminal,
  client: SessionClient,
  closing: Promise<void>,
): OpenedJudge {
  const opened = Promise.withResolvers<Judge>();
  const work = async (store: Store) => {
    const { judge, dispose } = await makeJudge(store, options, terminal, client);
    opened.resolve(judge);
    await closing;
    await store.shared?.settled();
    dispose();
  };
  const { parsedArgs } = options;
  const isMemory = (parsedArgs.values.get('--store') ?? terminal.env.SWITCHGEAR_STORE) === 'memory';
  const closed = isMemory
    ? work(memoryStore(systemClock))
    : withStore(findStoreAddress(parsedArgs, terminal), work, { verify: false, onLoss: terminal.err });
  return { judge: opened.promise, closed: closed.catch(opened.reject) };
}

async function makeJudge(
  store: Store,
  { parsedArgs, name, agent, session }: McpCommandOptions,
  terminal: Terminal,
  client: SessionClient,
): Promise<{ readonly judge: Judge; readonly dispose: () => void }> {
  const { env } = terminal;
  const policyOption = parsedArgs.values.get('--policy');
  const { policy, inForce } = await loadHookPolicy(policyOption, terminal, placeOnStore(store, terminal));
  const run = env.SWITCHGEAR_TASK ? await readStoredRun(store, env.SWITCHGEAR_TASK) : undefined;
  // The run counts all calls of its agent, so they must not be counted again here.
  const isInRun = run?.state === 'running' && isAlive(run.owner);
  const gear = assembleSwitchgear(
    {
      agent: agent ?? client.name ?? 'mcp-client',
      session: session ?? (env.SWITCHGEAR_SESSION || `mcp-${uniqueId()}`),
      store,
      ...(policy && { policy }),
      approver: firstAnswer(client.approver, cardApprover({ store })),
      env: {},
      project: inForce?.folder ?? terminal.cwd,
      log: 'silent',
    },
    {
      ...(policy && { policyEngine: (await import('../../guard/create-switchgear.ts')).policyEngine }),
      settings: (settings) => allowLongCalls(settings, policy),
      spendsJointBudgets: !isInRun,
      haltActions: ['dismiss'],
      limitQuestions: 'none',
    },
  );
  const runtime = runtimeOf(gear);
  let task: TaskState | undefined;
  const findTask = () => {
    task ??= startTask(runtime, { parent: null, limits: makeTaskLimits(policy, isInRun) }, undefined);
    return task;
  };
  return { judge: createJudge(runtime, name, findTask, () => readProcessChain().links), dispose: () => gear.dispose() };
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
