/** Reads whether a worker's result is a failure: by its status first, by its text last. */

import { classify, type Ending, isDenial, noLists, peek } from '../classify.ts';
import { reasonLengthMax, textLengthMax } from '../limits.ts';
import type { DelegationSettings } from '../settings.ts';
import { jaccard, tokenize } from '../similarity.ts';
import { hasInabilityPhrase, reportsInability } from './delegation/inability.ts';
import { isOwnMessage, toOneLine } from './delegation/messages.ts';
import { codes } from './registry.ts';

/** How a worker's result is read. */
export interface WorkerFailureOptions {
  /** Whether to search the worker's text for a reported inability, or for the words of inability anywhere. */
  readonly phrases: boolean | 'anywhere';
  /** The worker's name; a message with this name counts as the worker's, regardless of its role. */
  readonly worker?: string;
  /** The previous result of the same request; an equal text means that the worker repeats itself. */
  readonly previous?: unknown;
  /** Whether the caller knows that the request was not fulfilled. */
  readonly incomplete?: boolean;
}

/** Whether a worker failed, and why. */
export interface WorkerFailure {
  readonly failed: boolean;
  readonly reason: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Similarity from which two texts are the same output. */
const sameOutput = 0.95;

const noFailure: WorkerFailure = Object.freeze({ failed: false, reason: '' });
const badStatus = /^(error|failed|failure|timeout|timed_out|incomplete)$/i;
const workerRoles = /^(assistant|ai)$/;
const otherRoles = /^(user|human|system|developer|tool|function)$/;

/** Reads a worker's result. Never throws: an unreadable result is a failure. */
export function readWorkerFailure(result: unknown, options: WorkerFailureOptions): WorkerFailure {
  try {
    const status = readStatusFailure(result);
    if (status !== undefined) return status;
    if (options.incomplete === true) return makeFailure('Task incomplete');
    const text = readWorkerText(result, options.worker);
    if (text === '' || isOwnMessage(text)) return noFailure;
    const { phrases } = options;
    if (phrases === 'anywhere' ? hasInabilityPhrase(text) : phrases && reportsInability(text)) {
      return makeFailure(`Worker reported limitation: ${text}`);
    }
    const previous = readWorkerText(options.previous, options.worker);
    if (previous !== '' && jaccard(tokenize(previous), tokenize(text)) >= sameOutput) {
      return makeFailure(`Worker returned the same output twice: ${text}`);
    }
    return noFailure;
  } catch {
    return makeFailure('unreadable result');
  }
}

/** The value of `phrases` that settings ask for. */
export function phrasesOf({ phrases, phraseMatch }: DelegationSettings): WorkerFailureOptions['phrases'] {
  return phrases && phraseMatch === 'anywhere' ? 'anywhere' : phrases;
}

function makeFailure(reason: string): WorkerFailure {
  return { failed: true, reason: toOneLine(reason, reasonLengthMax) };
}

/** Reads a failure from structure; no failure if denied or cancelled, undefined if the structure is inconclusive. */
function readStatusFailure(result: unknown): WorkerFailure | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  const fields = result as Fields;
  if (isDenial(result)) return noFailure; // A denial of the worker is neither its success nor its failure.
  if (result instanceof Error || Object.prototype.toString.call(result) === '[object Error]') {
    if (fields.name === 'AbortError') return noFailure; // A cancellation is not a failure of the worker.
    return makeFailure(`${fields.name}: ${fields.message}`);
  }
  const code = codes.find((flag) => fields[flag] === true);
  if (code !== undefined) return makeFailure(`${code}: ${errorMessage(fields.error)}`);
  if (fields.error) return makeFailure(errorMessage(fields.error) || 'Error');
  if (fields.isError === true || fields.is_error === true) return makeFailure(readWorkerText(result) || 'Error');
  const { status } = fields;
  if (typeof status === 'string' && badStatus.test(status))
    return makeFailure(`Status ${status}: ${readWorkerText(result)}`);
  if (fields.completed === false) return makeFailure(`Task incomplete: ${readWorkerText(result)}`);
  if (!endsAsFailed({ value: result })) return undefined;
  return makeFailure(readWorkerText(result) || (status === undefined ? 'Error' : `Status ${String(status)}`));
}

/**
 * Whether work that ended so has failed: also where the request was at fault, which the breaker of a tool does not
 * count. Denied and cancelled work has not.
 */
export function endsAsFailed(ending: Ending): boolean {
  const outcome = classify(ending, noLists, 0, () => 0);
  return outcome.kind === 'failure' || (outcome.kind === 'neutral' && callersFault.test(outcome.why));
}

const callersFault = /^(ignored|unauthorized)$/;

/** The message of an error: a string, or the message of an object. */
function errorMessage(error: unknown): string {
  const message = typeof error === 'string' ? error : peek(error, 'message');
  return typeof message === 'string' ? message : '';
}

/** The bounded text of a worker; empty if there is none or another author wrote it. */
export function readWorkerText(result: unknown, worker?: string): string {
  if (typeof result === 'string') return result.slice(0, textLengthMax);
  const messages = peek(result, 'messages');
  const isList = Array.isArray(messages);
  const message: unknown = isList ? messages.at(-1) : result;
  if (typeof message !== 'object' || message === null) return '';
  const roleField = peek(message, 'role') ?? readMessageType(message);
  const role = typeof roleField === 'string' ? roleField : '';
  const isOurs = isList ? workerRoles.test(role) : !otherRoles.test(role);
  if (!isOurs && (worker === undefined || peek(message, 'name') !== worker)) return '';
  for (const key of ['text', 'content', 'output', 'message']) {
    const value = peek(message, key);
    if (typeof value === 'string') return value.slice(0, textLengthMax);
    if (Array.isArray(value)) return joinTextBlocks(value);
  }
  return '';
}

/** Message classes expose their type as a property or, in older releases, as a method. */
function readMessageType(message: object): unknown {
  const method = peek(message, 'getType') ?? peek(message, '_getType');
  return peek(message, 'type') ?? (typeof method === 'function' ? method.call(message) : undefined);
}

/** Joins the text blocks of a content list. */
function joinTextBlocks(blocks: readonly unknown[]): string {
  let text = '';
  for (const block of blocks) {
    if (text.length >= textLengthMax) break;
    const part = typeof block === 'string' ? block : peek(block, 'text');
    if (typeof part === 'string') text += `${text && '\n'}${part.slice(0, textLengthMax)}`;
  }
  return text.slice(0, textLengthMax);
}
