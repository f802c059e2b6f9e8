/** Classifies the ending of a call: success, failure with an error class, or neutral. No function here throws. */

import { cancelled, type Outcome, success } from './action.ts';
import { classChainMax, nameLengthMax } from './limits.ts';
import { parseHttpDate } from './retry-delay.ts';
import type { BreakerSettings } from './settings.ts';

/** How a call ended: with a value, or with an error. */
export type Ending = { readonly value: unknown } | { readonly error: unknown };

type ErrorLists = Pick<BreakerSettings, 'countErrors' | 'ignoreErrors' | 'sameErrorOnly' | 'failure'>;

/** The lists where no breaker has any. */
export const noLists: ErrorLists = { countErrors: [], ignoreErrors: [], sameErrorOnly: false, failure: 'reported' };

const ignored: Outcome = Object.freeze({ kind: 'neutral', why: 'ignored' });
const denied: Outcome = Object.freeze({ kind: 'neutral', why: 'denied' });
const unauthorized: Outcome = Object.freeze({ kind: 'neutral', why: 'unauthorized' });

/** Error names of tools and frameworks for a denial by a person or a policy: the tool is not at fault. */
const denialName = /^(Approval|Permission|Policy|Guardrail)(Process)?(Denied|Error)(Error)?$/;

/** An answer with a status of 400 to 499 but 408 and 429: the request is at fault, not the tool. */
const clientErrorName = 'ClientError';
/** Arguments that do not fit. */
const invalidArgumentsName = 'InvalidArguments';
/** An answer with the status 401 or 403. */
const unauthorizedName = 'Unauthorized';

/** Errors of schema libraries and frameworks for arguments that do not fit. */
const schemaErrorName =
  /^(\$?ZodError|ValiError|AI_(InvalidToolInput|InvalidArgument|TypeValidation)Error|ToolInputParsing\w+)$/;
/** How MCP servers report arguments that do not fit, at the beginning of the text of a result. */
const invalidArgumentsText = /^(MCP error -32602|Input validation error|Invalid arguments for tool)\b/;

/** The errors of a caller in the text of a result: the same that a thrown error has as its code. */
const callersErrors: readonly (readonly [words: RegExp, alias: string])[] = [
  [/^.{0,80}\b(?:ENOENT|no such file or directory|file not found)\b/i, 'FileNotFound'],
  [/^.{0,80}\b(?:EACCES|EPERM|permission denied|access denied)\b/i, 'PermissionDenied'],
];

/** The links of a chain of causes that are read. */
const causesMax = 5;

/** Codes of Node, HTTP clients and JSON-RPC, and HTTP statuses, with their names in policies. */
const errorAliases: readonly (readonly [sign: RegExp, word: string])[] = [
  [/^ENOENT\n/, 'FileNotFound'],
  [/^(EACCES|EPERM)\n/, 'PermissionDenied'],
  [/^(ERR_INVALID_ARG_\w+|-32602)\n|\n(400|422)$/, invalidArgumentsName],
  [/\n40[13]$/, unauthorizedName],
  [/\n4(?!08|29)\d\d$/, clientErrorName],
  [/\n429$/, 'RateLimitExceeded'],
  [/\n(408|5\d\d)$|^UND_ERR_\w+_TIMEOUT\n/, 'NetworkError'],
  [/^E(TIMEDOUT|SOCKETTIMEDOUT|CONN\w+|NOTFOUND|AI_AGAIN|PIPE|HOSTUNREACH|NETUNREACH)\n/, 'NetworkError'],
];

/** All names of an error: own name, class chain, code, their names in policies, and those of its causes. */
export interface ErrorFacts {
  readonly names: readonly string[];
  readonly message: string;
  /** The wait that the callee requested. */
  readonly retryAfterMs: number | undefined;
}

/** Reads an untrusted error and the chain of its causes: `fetch`, for one, has the reason of a failure only there. */
export function readError(error: unknown): ErrorFacts {
  const names: string[] = [];
  let retryAfterMs: number | undefined;
  const seen = new Set<unknown>();
  for (let link = error; seen.size < causesMax && !seen.has(link); link = peek(link, 'cause')) {
    if (link !== error && (typeof link !== 'object' || link === null)) break;
    seen.add(link);
    const found = readOneError(link);
    for (const name of found.names) if (!names.includes(name)) names.push(name);
    retryAfterMs ??= found.retryAfterMs;
    // The outermost error of a known class decides: a 503 that a 422 caused is still a 503.
    if (found.names.some(isAlias)) break;
  }
  const message = typeof error === 'string' ? error : peek(error, 'message');
  return {
    names: names.length === 0 ? ['Error'] : names,
    message: typeof message === 'string' ? message : '',
    retryAfterMs,
  };
}

function readOneError(error: unknown): Pick<ErrorFacts, 'names' | 'retryAfterMs'> {
  const names: string[] = [];
  const add = (name: unknown) => {
    const text = typeof name === 'string' || typeof name === 'number' ? String(name).slice(0, nameLengthMax) : '';
    if (text !== '' && !names.includes(text)) names.push(text);
  };
  add(peek(error, 'name'));
  let proto = error;
  for (let depth = 0; depth < classChainMax && typeof proto === 'object' && proto !== null; depth++) {
    try {
      proto = Object.getPrototypeOf(proto);
    } catch {
      break; // A proxy may refuse to show its class.
    }
    add(peek(peek(proto, 'constructor'), 'name'));
  }
  const code = peek(error, 'code');
  add(code);
  const response = peek(error, 'response');
  const status = Number(peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(response, 'status'));
  for (const [sign, alias] of errorAliases) if (sign.test(`${String(code)}\n${status}`)) add(alias);
  if (names.includes('TimeoutError') || isFailedFetch(error)) add('NetworkError');
  if (names.some((name) => schemaErrorName.test(name))) add(invalidArgumentsName);
  return { names, retryAfterMs: readRetryAfter(error, peek(error, 'headers') ?? peek(response, 'headers')) };
}

/** Whether `fetch` got no answer at all; not every cause of that has a code. */
function isFailedFetch(error: unknown): boolean {
  if (peek(error, 'name') !== 'TypeError') return false;
  const message = peek(error, 'message');
  return message === 'fetch failed' || message === 'terminated' || message === 'Failed to fetch';
}

/** Reads a property that may be absent or throw. */
export function peek(value: unknown, key: string): unknown {
  try {
    // Check first: catching a throw here would cost more than the whole call.
    return (value as Record<string, unknown> | null | undefined)?.[key];
  } catch {
    return undefined;
  }
}

/** Reads a wait: a property in milliseconds, or the HTTP header, in seconds or as a date after that of the response. */
function readRetryAfter(error: unknown, headers: unknown): number | undefined {
  const retryAfterMs = peek(error, 'retryAfterMs');
  if (typeof retryAfterMs === 'number' && retryAfterMs > 0 && retryAfterMs < 1e12) return retryAfterMs;
  const header = readHeader(headers, 'retry-after');
  if (header === undefined || header === null) return undefined;
  if (/^\d{1,6}$/.test(String(header))) return Number(header) * 1000;
  const waitMs =
    (parseHttpDate(header) ?? 0) - (parseHttpDate(readHeader(headers, 'date')) ?? Number.POSITIVE_INFINITY);
  return waitMs > 0 ? waitMs : undefined;
}

function readHeader(headers: unknown, name: string): unknown {
  try {
    return peek(headers, name) ?? (headers as Headers | undefined)?.get(name);
  } catch {
    return undefined; // Headers without a `get`, or with one that throws.
  }
}

/** A failure of an error with only a name and a message. */
interface PlainFailure {
  readonly lists: ErrorLists;
  readonly kind: unknown;
  readonly name: unknown;
  readonly outcome: Outcome;
}

/** Cache of the last plain failure, because the most common errors repeat. */
let lastPlainFailure: PlainFailure | undefined;

/** Computes the fingerprint of an error. */
type Fingerprint = (name: string, message: string) => number;

/** Classifies an ending for the breaker; the caller supplies the fingerprint function. */
export function classify(ending: Ending, lists: ErrorLists, atMs: number, fingerprint: Fingerprint): Outcome {
  return 'value' in ending
    ? classifyValue(ending.value, lists, atMs, fingerprint)
    : classifyError(ending.error, lists, atMs, fingerprint);
}

/**
 * A returned value is a success unless it reports an error: `isError: true`, an object that is nothing but
 * `{ ok: false }` or `{ error }`, or an HTTP response with an error status.
 */
export function classifyValue(value: unknown, lists: ErrorLists, atMs: number, fingerprint: Fingerprint): Outcome {
  try {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return success;
    if (isDenial(value)) return denied;
    if (lists.failure === 'throws-only') return success;
    const error = peek(value, 'error');
    const isReported = peek(value, 'isError') === true;
    if (isReported || ((error || peek(value, 'ok') === false) && isErrorShape(value))) {
      const facts = readError(error);
      const plain = [...facts.names, ...readOneError(value).names];
      const names = error instanceof Error ? facts.names : reportedNames(plain, isReported ? value : undefined);
      if (names.some((name) => denialName.test(name))) return denied;
      // Of a result of MCP the text tells errors apart.
      const message = facts.message || (isReported ? firstText(value) : '');
      return makeFailure(names, { ...facts, message }, lists, atMs, fingerprint);
    }
    if (!isErrorResponse(value)) return success;
    const facts = readError(value);
    return makeFailure(facts.names.filter(isAlias), facts, lists, atMs, fingerprint);
  } catch {
    return success; // The value is unreadable (a revoked proxy), but the call returned.
  }
}

/** The fields of an object that is nothing but the report of an error. */
const errorFields = new Set(['ok', 'success', 'error', 'message', 'code', 'status', 'statusCode', 'details']);

function isErrorShape(value: object): boolean {
  let fields = 0;
  for (const name in value) if (!errorFields.has(name) || ++fields > errorFields.size) return false;
  return true;
}

/** The names of an error that is reported as plain data: of a status only, or else that of a failed tool. */
function reportedNames(names: readonly string[], result: object | undefined): readonly string[] {
  const text = result === undefined ? '' : firstText(result);
  if (invalidArgumentsText.test(text)) return [invalidArgumentsName];
  const alias = callersErrors.find(([words]) => words.test(text))?.[1];
  if (alias !== undefined) return [alias];
  const byStatus = names.filter((name) => name === clientErrorName || name === unauthorizedName);
  return byStatus.length > 0 ? byStatus : ['ToolError'];
}

/** The first text of a result of MCP. */
export function firstText(result: object): string {
  const text = peek(peek(peek(result, 'content'), '0'), 'text');
  return typeof text === 'string' ? text : '';
}

/** Whether a value is the response of an HTTP request, with an error status. */
function isErrorResponse(value: object): boolean {
  const status = peek(value, 'status');
  return (
    typeof status === 'number' &&
    status >= 400 &&
    peek(value, 'ok') === false &&
    typeof peek(peek(value, 'headers'), 'get') === 'function'
  );
}

const aliases = new Set([...errorAliases.map(([, alias]) => alias), 'ToolError']);
const isAlias = (name: string) => aliases.has(name);

/** Classifies a thrown error. */
export function classifyError(error: unknown, lists: ErrorLists, atMs: number, fingerprint: Fingerprint): Outcome {
  try {
    if (lastPlainFailure !== undefined && lastPlainFailure.lists === lists && isLike(error, lastPlainFailure))
      return lastPlainFailure.outcome;
    if (isDenial(error)) return denied;
    const facts = readError(error);
    const { names } = facts;
    // Only the error itself says that somebody cancelled or denied the call; a cause may be an abort by the tool.
    const own = readOneError(error).names;
    if (own.includes('AbortError')) return cancelled;
    if (own.some((name) => denialName.test(name))) return denied;
    const outcome = makeFailure(names, facts, lists, atMs, fingerprint);
    if (outcome.kind === 'failure' && !lists.sameErrorOnly && error instanceof Error) {
      const plain = { lists, kind: Object.getPrototypeOf(error), name: error.name, outcome: Object.freeze(outcome) };
      if (isLike(error, plain)) lastPlainFailure = plain;
    }
    return outcome;
  } catch {
    return { kind: 'failure', error: 'Error', errorFingerprint: 1 }; // For example a header that throws.
  }
}

/**
 * Ignored names take precedence over counted names; unlisted errors count, unless the request is at fault. An error
 * response without a name that policies know is a failed tool.
 */
function makeFailure(
  names: readonly string[],
  { message, retryAfterMs }: ErrorFacts,
  lists: ErrorLists,
  atMs: number,
  fingerprint: Fingerprint,
): Outcome {
  if (names.some((name) => lists.ignoreErrors.includes(name))) return ignored;
  const counted = names.find((name) => lists.countErrors.includes(name));
  if (counted === undefined && names.some((name) => name === clientErrorName || name === invalidArgumentsName)) {
    return names.includes(unauthorizedName) ? unauthorized : ignored;
  }
  const error = counted ?? names[0] ?? 'ToolError';
  const errorFingerprint = lists.sameErrorOnly ? fingerprint(error, message) : 0;
  const retryAt = retryAfterMs !== undefined && { retryAtMs: atMs + retryAfterMs };
  return { kind: 'failure', error, errorFingerprint, ...retryAt };
}

/** Whether an error equals the cached failure. Without a loop over property names, which is far slower. */
function isLike(candidate: unknown, { kind, name }: PlainFailure): boolean {
  if (typeof candidate !== 'object' || candidate === null || Object.getPrototypeOf(candidate) !== kind) return false;
  const error = candidate as Readonly<Record<string, unknown>>;
  return (
    error.name === name &&
    error.code === undefined &&
    error.status === undefined &&
    error.statusCode === undefined &&
    error.response === undefined &&
    error.cause === undefined &&
    error.headers === undefined &&
    error.retryAfterMs === undefined &&
    !isDenial(error) &&
    !isFailedFetch(error)
  );
}

/** Whether a value is a denial by a person or a policy. Without a loop over property names, for speed. */
export function isDenial(value: unknown): boolean {
  try {
    const flags = (value ?? {}) as Readonly<Record<string, unknown>>;
    return (
      flags.approval_denied === true ||
      flags.permission_denied === true ||
      flags.approval_error === true ||
      flags.policy_denied === true ||
      flags.guardrail_denied === true
    );
  } catch {
    return false; // An unreadable value is no denial.
  }
}
