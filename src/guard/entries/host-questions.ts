/** Questions to a person through a host: what was asked first under a call id, and what the answer is for. */

import { evictOldest } from '../../core/bounded.ts';
import { withNote } from '../../core/card.ts';
import { countedIdsMax } from '../../core/limits.ts';
import type { Stop } from '../../core/verdict.ts';
import type { Answer } from '../../ports/approver.ts';
import { digestApproval } from '../approval/approval-digest.ts';
import { formatInputLine, showInput } from '../approval/shown-input.ts';
import type { CallSite } from '../route/call-site.ts';
import { type Approval, approveEdited, digestOf, type JudgedCall, tooLargeReason } from '../route/rounds.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** A host that asks: the id of its call, and its way to ask. */
export interface AskingHost {
  readonly id?: string | undefined;
  /** Errors that it throws pass through. */
  readonly ask?: ((question: string, args: readonly unknown[]) => Answer | Promise<Answer>) | undefined;
}

/** The digests of calls that a host was asked about and has not answered yet, by call. */
interface AskedDigests {
  readonly byCall: Map<string, string>;
  /** Whether digests were evicted: an unknown call may be one of them. */
  hasForgotten: boolean;
}

const askedDigests = new WeakMap<Runtime, AskedDigests>();

/** Remembers what a host is asked about until its answer; what was asked first under a call id stays. */
export function rememberAsked(runtime: Runtime, site: CallSite, id: string | undefined, digest: string): void {
  if (id === undefined || id === '') return;
  const asked = askedDigests.get(runtime) ?? { byCall: new Map<string, string>(), hasForgotten: false };
  askedDigests.set(runtime, asked);
  const key = askedKey(runtime, site, id);
  if (asked.byCall.has(key)) return;
  if (evictOldest(asked.byCall, countedIdsMax) !== undefined) asked.hasForgotten = true;
  asked.byCall.set(key, digest);
}

/** Why the answer of a host may be for another input: the host was asked about another, or the question is unknown. */
function findChange(runtime: Runtime, site: CallSite, id: string | undefined, digest: string): string | undefined {
  const asked = askedDigests.get(runtime);
  if (asked === undefined || id === undefined || id === '') return undefined;
  const first = asked.byCall.get(askedKey(runtime, site, id));
  if (first === undefined && asked.hasForgotten) return 'too many questions are open, so it must be asked about again';
  return first === undefined || first === digest ? undefined : 'its arguments changed after a person was asked';
}

/** The key of a question: two conversations of one gear may use the same call id. */
function askedKey({ session }: Runtime, { target, task }: CallSite, id: string): string {
  return JSON.stringify([task?.session ?? session, target.name, id]);
}

/** The digest of a call without its task, which may be another one when the host comes back with the answer. */
export function digestHostCall(
  { store }: Runtime,
  name: string,
  args: readonly unknown[],
  stop: Stop,
): string | undefined {
  return digestApproval(store, { tool: name, task: undefined, args, stop });
}

/** The questions of one call to a person through the host: one, and one more each time the person edits the call. */
export class HostQuestions {
  readonly #runtime: Runtime;
  readonly #host: AskingHost;
  #isDue = true;
  #edits = 0;
  /** Whether the host threw: its error passes through. */
  hasThrown = false;

  constructor(runtime: Runtime, host: AskingHost) {
    this.#runtime = runtime;
    this.#host = host;
  }

  /**
   * Asks a person. Returns the approval, or the stop that refuses the call: also if the host was asked about other
   * arguments under the same call id. Undefined if the host has answered for these arguments.
   */
  ask<T>(judged: JudgedCall<T>, stop: Stop): Promise<Approval | Stop> | undefined {
    if (!this.#isDue) return undefined;
    this.#isDue = false;
    return this.#ask(judged, stop);
  }

  async #ask<T>(judged: JudgedCall<T>, stop: Stop): Promise<Approval | Stop> {
    const runtime = this.#runtime;
    const { site, args } = judged;
    const { name } = site.target;
    const id = this.#edits === 0 ? this.#host.id : this.#host.id && `${this.#host.id} edit ${this.#edits}`;
    const unanswered: Stop = { ...stop, kind: 'deny', code: 'rule_unanswered' };
    const digest = digestOf(runtime, judged, stop);
    const asked = digestHostCall(runtime, name, args, stop);
    if (digest === undefined || asked === undefined) return { ...unanswered, reason: tooLargeReason };
    const change = findChange(runtime, site, id, asked);
    rememberAsked(runtime, site, id, asked);
    const why = stop.reason === undefined ? '' : `: ${stop.reason}`;
    const shown = formatInputLine(showInput(args, runtime.settings.approval.redact));
    const question = `${site.agent} wants to call ${name}${why}${shown === undefined ? '' : `, ${shown}`}`;
    const answer = await this.#answer(question, args);
    askedDigests.get(runtime)?.byCall.delete(askedKey(runtime, site, id ?? ''));
    if (answer?.approved === false) {
      const reason = withNote(stop.reason, answer.by, answer.note);
      return { ...unanswered, code: 'rule_declined', ...(reason !== undefined && { reason }) };
    }
    if (answer?.approved !== true) return unanswered;
    if (change !== undefined) return { ...unanswered, reason: change };
    if (answer.args === undefined) return { by: answer.by, stop, digest };
    this.#isDue = true;
    this.#edits++;
    return approveEdited(runtime, judged, stop, { by: answer.by, args: answer.args });
  }

  /** Asks whether a limit may be raised. */
  askLimit(question: string, args: readonly unknown[]): Promise<Answer> {
    return this.#answer(question, args);
  }

  async #answer(question: string, args: readonly unknown[]): Promise<Answer> {
    try {
      return await this.#host.ask!(question, args);
    } catch (error) {
      this.hasThrown = true;
      throw error;
    }
  }
}
