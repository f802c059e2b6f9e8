/**
 * Asks a person whether a limit that a task reached may be raised (`at_limit = "ask"`). All calls that stand at the
 * limit share one question; none of them runs before the answer.
 */

import { highNoticeShare } from '../../core/controls/budget/notice-share.ts';
import { explain } from '../../core/messages/explain.ts';
import { toSnakeCase } from '../../core/names.ts';
import type { LimitRaise, Stop } from '../../core/verdict.ts';
import type { Answer } from '../../ports/approver.ts';
import { digestApproval } from '../approval/approval-digest.ts';
import { countError } from '../journal/journal.ts';
import { isObserving, type Runtime } from '../runtime/runtime.ts';
import { halt } from './halt.ts';
import type { TaskState } from './task.ts';
import { applyEvent } from './task-events.ts';

/** Asks through the host of a call. Errors that it throws pass through. */
export type AskHost = (question: string) => Answer | Promise<Answer>;

/** A question about a limit, as a person reads it and as its digest binds it. */
export interface LimitQuestion {
  /** The name of the limit. */
  readonly name: string;
  readonly title: string;
  /** What an approval changes. */
  readonly reason: string;
  readonly args: readonly unknown[];
}

/** The open questions of a task, by limit. */
const openQuestions = new WeakMap<TaskState, Map<string, Promise<boolean>>>();

/** Tasks whose host asks a person about its calls. */
const askedByHost = new WeakSet<TaskState>();

/** Remembers that the host of a task can be asked at its next call. */
export function noteAskingHost(task: TaskState | undefined): void {
  if (task?.limits.atLimit === 'ask') askedByHost.add(task);
}

export function describeLimit(
  { agent }: TaskState,
  { setting, before, limit, tool, otherwise }: LimitRaise,
): LimitQuestion {
  const key = toSnakeCase(setting);
  const name = tool === undefined ? `task.${key}` : `tools.${tool}.${key}`;
  const { explanation } = explain(otherwise, { name: tool ?? name, agent, atMs: 0 });
  return {
    name,
    title: `${agent} has reached a limit: ${explanation}`,
    reason: `approve to raise ${name} of this task from ${before} to ${limit}`,
    args: [{ [name]: limit }],
  };
}

/** The task whose limit a stop is about: the acting one or an ancestor. */
export function limitOwner(task: TaskState, { ends }: Stop): TaskState {
  let owner = task;
  while (ends !== undefined && (ends === 'root' || owner.id !== ends) && owner.parent !== undefined)
    owner = owner.parent;
  return owner;
}

/**
 * Asks whether the limit of a stop may be raised, and raises it; returns whether it was. Joins the question that is
 * open about the same limit. A limit that a person did not raise is not asked about again.
 */
export async function askToRaiseLimit(
  runtime: Runtime,
  task: TaskState,
  stop: Stop,
  askHost?: AskHost,
): Promise<boolean> {
  const raise = stop.raise!;
  const owner = limitOwner(task, stop);
  const key = markOf(raise);
  for (;;) {
    if (owner.haltStop !== undefined || owner.ended || isDeclined(owner, raise)) return false;
    const open = openQuestions.get(owner)?.get(key);
    if (open === undefined) break;
    try {
      return await open;
    } catch {
      // The host of the call that asked interrupted its question: this call asks.
    }
  }
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  promise.catch(() => {});
  const questions = openQuestions.get(owner) ?? new Map<string, Promise<boolean>>();
  openQuestions.set(owner, questions.set(key, promise));
  try {
    const by = await ask(runtime, task, stop, askHost);
    if (by === undefined) declineLimit(owner, raise);
    else raiseLimit(runtime, owner, raise, by);
    resolve(by !== undefined);
  } catch (error) {
    reject(error);
  } finally {
    questions.delete(key);
  }
  return promise;
}

/** Returns the person who approved. */
async function ask(runtime: Runtime, task: TaskState, stop: Stop, askHost?: AskHost): Promise<string | undefined> {
  const { name, title, reason, args } = describeLimit(limitOwner(task, stop), stop.raise!);
  if (runtime.limitQuestions === 'none') return undefined;
  if (askHost !== undefined) {
    const answer = await askHost(`${title}; ${reason}`);
    // With other arguments it is an answer about the call, not about the limit.
    return answer?.approved === true && answer.args === undefined ? answer.by : undefined;
  }
  const digest = digestApproval(runtime.store, { tool: name, task: task.id, args, stop });
  if (digest === undefined) return undefined;
  const { agent, session } = task;
  const site = { task, agent, session, target: { name, kind: 'tool' } } as const;
  const said = await runtime.ask(runtime, site, { ...stop, reason }, { args, digest, title });
  return typeof said === 'string' ? said : undefined;
}

/** Raises a limit of a task. Its notices come again before the new limit. */
export function raiseLimit(runtime: Runtime, owner: TaskState, raise: LimitRaise, by: string): void {
  if (owner.haltStop !== undefined || owner.ended) return;
  const { setting, before, limit, tool } = raise;
  const event = { type: 'limit-raised', setting, before, limit, ...(tool !== undefined && { tool }), by } as const;
  applyEvent(runtime, owner, event, runtime.clock.nowMs());
  const name = toSnakeCase(setting).replace(/^max_/, '');
  for (const each of [name, `${name} ${highNoticeShare}`]) owner.noticed?.delete(each);
  if (setting === 'maxToolCalls') owner.noticeCalls = limit * owner.limits.noticeShare;
}

/** Remembers that a limit stays: nobody is asked about it again. */
export function declineLimit(owner: TaskState, raise: LimitRaise): void {
  owner.noticed ??= new Set();
  owner.noticed.add(markOf(raise));
}

export function isDeclined({ noticed }: TaskState, raise: LimitRaise): boolean {
  return noticed?.has(markOf(raise)) === true;
}

function markOf({ setting, tool = '' }: LimitRaise): string {
  return `limit ${setting} ${tool}`;
}

/**
 * Handles a limit that was passed without a call that could wait, by what a call cost or by an observed call. The
 * approver is asked at once; a host or the inbox is asked at the next call; without any of them the task halts.
 */
export function askOrHalt(runtime: Runtime, task: TaskState, stop: Stop, name: string, atMs: number): void {
  const { otherwise } = stop.raise!;
  const owner = limitOwner(task, stop);
  const close = () => halt(runtime, task, otherwise, name, runtime.clock.nowMs());
  const { approver, limitQuestions } = runtime;
  if (openQuestions.get(owner)?.has(markOf(stop.raise!))) return; // Its answer decides.
  if (isObserving(runtime) || isDeclined(owner, stop.raise!)) {
    halt(runtime, task, otherwise, name, atMs);
  } else if (approver !== undefined && limitQuestions === undefined) {
    askToRaiseLimit(runtime, task, stop)
      .then((isRaised) => isRaised || close())
      .catch((error) => {
        countError(runtime, 'approval', error);
        close();
      });
  } else if (limitQuestions !== 'at calls' && !askedByHost.has(task)) close();
}
