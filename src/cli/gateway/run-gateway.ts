/** The gateway of `switchgear run --gateway`: it serves one attempt, in the process of the supervisor. */

import { randomBytes } from 'node:crypto';
import { readerFor } from '../../agents/reader-for.ts';
import { supervisorName } from '../../core/card.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { ProviderName } from '../../gateway/providers.ts';
import { startGateway } from '../../gateway/start-gateway.ts';
import { createUpstreamChoice } from '../../gateway/upstream-choice.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { runtimeOf, type TaskState } from '../../guard/internal.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { Terminal } from '../command.ts';
import { limitsSpend } from '../policy/session-limits.ts';
import { type Lead, planLead } from './lead-agent.ts';

/** What the gateway needs to know of the run. */
export interface ServedRun {
  /** The task of the agent now. */
  readonly task: Task;
  readonly halt: Refusal | undefined;
  /** Whether the output of the agent shows its calls of tools. */
  readonly showsCalls: boolean;
}

/** A gateway that serves one attempt. */
export interface RunGateway extends Lead {
  /** Whether model calls of the agent came through the gateway, so that what the agent reports counts nowhere. */
  readonly isMetering: boolean;
  /** Why some requests of the agent will not reach the gateway. */
  readonly problem: string | undefined;
  /** Begins to serve: requests before wait for it. */
  serve(run: ServedRun): void;
  close(): Promise<void>;
}

export interface RunGatewayOptions {
  readonly gear: Switchgear;
  readonly policy: CheckedPolicy;
  readonly terminal: Terminal;
  readonly upstreams: Partial<Record<ProviderName, URL>>;
  /** Whether the command line limits money or tokens. */
  readonly isLimited: boolean;
}

/** The agents whose output shows nothing of their subagents: only their files do, a little later. */
const silentAboutSubagents: ReadonlySet<string> = new Set(['codex', 'gemini', 'opencode']);
/** The time between two signs of life. */
const signEveryMs = 1_000;

export async function openRunGateway(command: readonly string[], options: RunGatewayOptions): Promise<RunGateway> {
  const { gear, policy, terminal, upstreams: given } = options;
  const runtime = runtimeOf(gear);
  const agent = readerFor(command);
  const plan = planLead(agent, command, terminal, given);
  const choice = createUpstreamChoice(runtime, { upstreams: plan.upstreams, fallbacks: {} }, terminal);
  const token = randomBytes(24).toString('base64url');
  const served = Promise.withResolvers<ServedRun>();
  let run: ServedRun | undefined;
  let isMetering = false;
  let signAtMs = Number.NEGATIVE_INFINITY;
  const stateOf = ({ task }: ServedRun): TaskState => {
    const state = runtime.tasks.get(task.id) ?? runtime.halted.get(task.id);
    if (state === undefined) throw new Error('the run has ended');
    return state;
  };
  const gateway = await startGateway(runtime, {
    ...{ host: '127.0.0.1', port: 0, limits: {}, watchesTools: true },
    allowedPaths: policy.settings.gateway.allowUnpriced,
    upstreams: {
      ...choice,
      find(provider, model, isKeyed) {
        const found = choice.find(provider, model, isKeyed);
        return found && plan.isUnversioned && provider === 'openai' ? { ...found, isUnversioned: true } : found;
      },
    },
    isLimited: options.isLimited || limitsSpend(policy),
    run: {
      token,
      task: () => (run === undefined ? served.promise.then(stateOf) : stateOf(run)),
      ending: () => run?.halt,
      onCall() {
        isMetering = true;
      },
      onSign() {
        const nowMs = runtime.clock.nowMs();
        if (run === undefined || nowMs - signAtMs < signEveryMs) return;
        signAtMs = nowMs;
        run.task.observe({ type: 'heartbeat' });
      },
      watching(isFirst) {
        if (run?.showsCalls !== true) return 'count';
        return !isFirst && silentAboutSubagents.has(agent.cli) ? 'loops' : 'none';
      },
      dismissCard: (id) => void gear.cards.answer(id, 'dismiss', supervisorName),
    },
  });
  return {
    ...plan.lead(`http://127.0.0.1:${gateway.port}/run/${token}`),
    problem: plan.problem,
    get isMetering() {
      return isMetering;
    },
    serve(started) {
      run = started;
      served.resolve(started);
    },
    close: () => gateway.close(),
  };
}
