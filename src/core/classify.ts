/** Reads what an ending means: success, failure of a class, or neither. It never throws, whatever it is handed. */

import { cancelled, type Outcome, success } from './action.ts';
import { classChainMax, nameLengthMax } from './limits.ts';
import type { BreakerSettings } from './settings.ts';

/** How a call ended: with a value, or with an error. */
export type Ending = { readonly value: unknown } | { readonly error: unknown };

type Lists = Pick<BreakerSettings, 'countErrors' | 'ignoreErrors' | 'sameErrorOnly'>;

const ignored: Outcome = Object.freeze({ kind: 'neutral', why: 'ignored' });
const denied: Outcome = Object.freeze({ kind: 'neutral', why: 'denied' });

/** Flags and names by which tools and frameworks say that a person or a policy said no: the tool is not at fault. */
const denialFlags = ['approval_denied', 'permission_denied', 'approval_error', 'policy_denied', 'guardrail_denied'];
const denialName = /^(Approval|Permission|Policy|Guardrail)(Process)?(Denied|Error)(Error)?$/;

/** Codes of Node, HTTP clients and JSON-RPC that say the same as a name in policies. */
const argumentsCode = /^(ERR_INVALID_ARG_\w+|-32602)$/;
const networkCode =
  /^(E(TIMEDOUT|SOCKETTIMEDOUT|CONN\w+|NOTFOUND|AI_AGAIN|PIPE|HOSTUNREACH|NETUNREACH)|UND_ERR_\w+_TIMEOUT)$/;

/** What an error calls itself and is called: own name, class chain, code, and the policy's words for them. */
export interface ErrorFacts {
  readonly names: readonly string[];
  readonly message: string;
  /** The wait that the callee asked for. */
  readonly retryAfterMs: number | undefined;
}

/** Reads an error without trusting it. */
export function readError(error: unknown): ErrorFacts {
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
  const status = Number(peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(response, 'status') ?? 0);
  if (code === 'ENOENT') add('FileNotFound');
  if (code === 'EACCES' || code === 'EPERM') add('PermissionDenied');
  if (argumentsCode.test(String(code)) || status === 400 || status === 422) add('InvalidArguments');
  if (status === 429) add('RateLimitExceeded');
  const isDown = status === 408 || (status >= 500 && status < 600);
  if (isDown || networkCode.test(String(code)) || names.includes('TimeoutError')) add('NetworkError');
  const message = typeof error === 'string' ? error : peek(error, 'message');
  return {
    names: names.length === 0 ? ['Error'] : names,
    message: typeof message === 'string' ? message : '',
    retryAfterMs: retryAfterOf(error, peek(error, 'headers') ?? peek(response, 'headers')),
  };
}

/** A property that may not be there, or throw when it is looked at. */
export function peek(value: unknown, key: string): unknown {
  try {
    // Asking first: a throw that is caught here would cost more than the whole call.
    return (value as Record<string, unknown> | null | undefined)?.[key];
  } catch {
    return undefined;
  }
}

/** A property in milliseconds, or the HTTP header in seconds. */
function retryAfterOf(error: unknown, headers: unknown): number | undefined {
  const given = peek(error, 'retryAfterMs');
  if (typeof given === 'number' && given > 0 && given < 1e12) return given;
  let header = peek(headers, 'retry-after');
  try {
    header ??= (headers as Headers | undefined)?.get('retry-after');
  } catch {
    return undefined; // Headers without a `get`, or one that throws.
  }
  return /^\d{1,6}$/.test(String(header)) ? Number(header) * 1000 : undefined;
}

/** What the ending of a call means for the breaker, with the error's fingerprint made by the caller. */
export function classify(
  ending: Ending,
  lists: Lists,
  atMs: number,
  fingerprint: (name: string, message: string) => number,
): Outcome {
  try {
    return readEnding(ending, lists, atMs, fingerprint);
  } catch {
    // It cannot be read (a revoked proxy, a hostile header), but how it came is known.
    return 'value' in ending ? success : { kind: 'failure', error: 'Error', errorFingerprint: 1 };
  }
}

function readEnding(...[ending, lists, atMs, fingerprint]: Parameters<typeof classify>): Outcome {
  const isValue = 'value' in ending;
  const what = isValue ? ending.value : ending.error;
  let facts: ErrorFacts;
  if (isValue) {
    // A returned value is a success unless it says itself that it is an error: `isError: true`, or a truthy `error`.
    if (typeof what !== 'object' || what === null || Array.isArray(what)) return success;
    if (isDenial(what)) return denied;
    const error = peek(what, 'error');
    if (!error && peek(what, 'isError') !== true) return success;
    const inner = readError(error);
    facts = error instanceof Error ? inner : { ...inner, names: ['ToolError'] };
  } else {
    const known = plainFailure(what, lists);
    if (known !== undefined) return known;
    facts = readError(what);
    if (facts.names.includes('AbortError')) return cancelled;
    if (isDenial(what) || facts.names.some((name) => denialName.test(name))) return denied;
  }
  // Ignoring wins over counting; what is in neither list counts.
  if (facts.names.some((name) => lists.ignoreErrors.includes(name))) return ignored;
  const error = facts.names.find((name) => lists.countErrors.includes(name)) ?? facts.names[0]!;
  const errorFingerprint = lists.sameErrorOnly ? fingerprint(error, facts.message) : 0;
  const failure = { kind: 'failure', error, errorFingerprint } as const;
  return facts.retryAfterMs === undefined ? failure : { ...failure, retryAtMs: atMs + facts.retryAfterMs };
}

/** Failures of errors that carry nothing but a name and a message, by lists and class: the commonest, read once. */
const plainFailures = new WeakMap<Lists, WeakMap<object, { readonly name: string; readonly outcome: Outcome }>>();

/** Whether an error carries more than a name and a message. Spelt out: asking by name in a loop costs far more. */
function isTelling(error: Error & { readonly [property: string]: unknown }): boolean {
  return (
    error.code !== undefined ||
    error.status !== undefined ||
    error.statusCode !== undefined ||
    error.response !== undefined ||
    error.headers !== undefined ||
    error.retryAfterMs !== undefined ||
    error.approval_denied !== undefined ||
    error.permission_denied !== undefined ||
    error.approval_error !== undefined ||
    error.policy_denied !== undefined ||
    error.guardrail_denied !== undefined
  );
}

function plainFailure(error: unknown, lists: Lists): Outcome | undefined {
  if (lists.sameErrorOnly || !(error instanceof Error)) return undefined;
  if (isTelling(error as Error & { readonly [property: string]: unknown })) return undefined;
  const kind: object = Object.getPrototypeOf(error);
  let known = plainFailures.get(lists);
  if (known === undefined) {
    known = new WeakMap();
    plainFailures.set(lists, known);
  }
  const before = known.get(kind);
  if (before !== undefined) return before.name === error.name ? before.outcome : undefined;
  const { names } = readError(error);
  const isNeutral = (name: string) =>
    name === 'AbortError' || denialName.test(name) || lists.ignoreErrors.includes(name);
  if (names.some(isNeutral)) return undefined;
  const counted = names.find((name) => lists.countErrors.includes(name)) ?? names[0]!;
  const outcome: Outcome = Object.freeze({ kind: 'failure', error: counted, errorFingerprint: 0 });
  known.set(kind, { name: error.name, outcome });
  return outcome;
}

/** Whether a value says that a person or a policy said no. */
export function isDenial(value: unknown): boolean {
  return denialFlags.some((flag) => peek(value, flag) === true);
}
