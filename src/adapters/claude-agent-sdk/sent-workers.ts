/** The running workers of a query: a call of the Agent tool sends each worker; it then starts as an agent and stops. */

import type { Ending } from '../../core/classify.ts';
import type { Refusal } from '../../core/refusal.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { makeWorkerName } from '../../guard/entries/delegate.ts';
import { type OpenWorker, openWorker } from '../host/open-worker.ts';

/** The agent that a message or a call comes from, or the call that sent that agent. */
export interface MessageOrigin {
  readonly agent_id?: string;
  readonly parent_tool_use_id?: string | null;
}

/** A running worker and the agent that runs it. */
interface SentWorker {
  /** The id of the call that sent the worker. Several calls may have one id. */
  readonly call: string;
  readonly type: string;
  readonly worker: OpenWorker;
  agent?: string;
  /**
   * Whether the call has returned while the worker runs in the background; otherwise it returns after the worker
   * stops.
   */
  isLaunched?: boolean;
  isOver?: boolean;
}

/** Tracks the workers of one run. */
export class SentWorkers {
  readonly #sent = new Set<SentWorker>();

  /** The task of the worker that a message comes from; undefined if the message is of the main agent. */
  findTask({ agent_id, parent_tool_use_id }: MessageOrigin): Task | undefined {
    const sent = [...this.#sent];
    const byCall = parent_tool_use_id ? sent.findLast(({ call }) => call === parent_tool_use_id) : undefined;
    const found = byCall ?? sent.find(({ agent }) => agent !== undefined && agent === agent_id);
    return found?.worker.task;
  }

  /** Sends a worker for a call of the Agent tool; returns the refusal if the delegation is refused. */
  async send(gear: Switchgear, task: Task, call: string, args: unknown): Promise<Refusal | undefined> {
    const { subagent_type: type = '', prompt } = (args ?? {}) as {
      readonly subagent_type?: string;
      readonly prompt?: unknown;
    };
    const answer = await openWorker(gear, task, makeWorkerName(type, prompt), prompt);
    if (answer.refusal !== undefined) return answer.refusal;
    this.#sent.add({ call, type, worker: answer });
    return undefined;
  }

  /** Records that an agent started: the first worker of its type without an agent. */
  recordStart(agent: string, type: string): void {
    const waiting = [...this.#sent].find(
      (sent) => sent.agent === undefined && (sent.type || 'default') === (type || 'default'),
    );
    if (waiting !== undefined) waiting.agent = agent;
  }

  /** Settles the worker of an agent that stopped. */
  recordStop(agent: string, ending: Ending): void {
    for (const sent of this.#sent) {
      if (sent.agent !== agent) continue;
      sent.isOver = true;
      if (sent.isLaunched) this.#sent.delete(sent);
      sent.worker.settle(ending);
    }
  }

  /** Records that a call of the Agent tool returned; returns false if the call sent no worker. */
  recordReturn(call: string, ending: Ending): boolean {
    const withCall = [...this.#sent].filter((each) => each.call === call);
    // The call of a worker that has stopped is the first to return.
    const sent = withCall.find(({ isOver }) => isOver) ?? withCall.find(({ isLaunched }) => !isLaunched) ?? withCall[0];
    if (sent === undefined) return false;
    const { status } = ('value' in ending && ending.value ? ending.value : {}) as { readonly status?: unknown };
    sent.isLaunched = status === 'async_launched';
    if (sent.isLaunched && !sent.isOver) return true;
    this.#sent.delete(sent);
    if (!sent.isOver) sent.worker.settle(ending);
    return true;
  }

  /** Settles all workers at the end of the run, because nothing is known of them any more. */
  settleAll(): void {
    for (const { worker } of this.#sent) worker.settle({ error: makeAbortError() });
    this.#sent.clear();
  }
}

/** The error of a call or worker that the end of its run cut off. */
export function makeAbortError(): DOMException {
  return new DOMException('the run ended before the worker', 'AbortError');
}
