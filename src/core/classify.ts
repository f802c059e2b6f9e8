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

/** Codes of Node, HTTP clients and JSON-RPC, and HTTP statuses, that say the same as a name in policies. */
const words: readonly (readonly [sign: RegExp, word: string])[] = [
  [/^ENOENT\n/, 'FileNotFound'],
  [/^(EACCES|EPERM)\n/, 'PermissionDenied'],
  [/^(ERR_INVALID_ARG_\w+|-32602)\n|\n(400|422)$/, 'InvalidArguments'],
  [/\n429$/, 'RateLimitExceeded'],
  [/\n(408|5\d\d)$|^UND_ERR_\w+_TIMEOUT\n/, 'NetworkError'],
  [/^E(TIMEDOUT|SOCKETTIMEDOUT|CONN\w+|NOTFOUND|AI_AGAIN|PIPE|HOSTUNREACH|NETUNREACH)\n/, 'NetworkError'],
];

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
  const status = Number(peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(response, 'status'));
  for (const [sign, word] of words) if (sign.test(`${String(code)}\n${status}`)) add(word);
  if (names.includes('TimeoutError')) add('NetworkError');
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

/** A failure of an error that carries nothing but a name and a message. */
interface PlainFailure {
  readonly lists: Lists;
  readonly kind: unknown;
  readonly name: unknown;
  readonly outcome: Outcome;
}

/** The last of them: the commonest errors are read once. */
let last: PlainFailure | undefined;

/** What the ending of a call means for the breaker, with the error's fingerprint made by the caller. */
export function classify(
  ending: Ending,
  lists: Lists,
  atMs: number,
  fingerprint: (name: string, message: string) => number,
): Outcome {
  const isValue = 'value' in ending;
  try {
    const what = isValue ? ending.value : ending.error;
    // A returned value is a success unless it says itself that it is an error: `isError: true`, or a truthy `error`.
    if (isValue && (typeof what !== 'object' || what === null || Array.isArray(what))) return success;
    if (!isValue && last !== undefined && last.lists === lists && isLike(what, last)) return last.outcome;
    if (isDenial(what)) return denied;
    const error = isValue ? peek(what, 'error') : what;
    if (isValue && !error && peek(what, 'isError') !== true) return success;
    const { names: told, message, retryAfterMs } = readError(error);
    const names = isValue && !(error instanceof Error) ? ['ToolError'] : told;
    if (!isValue && names.includes('AbortError')) return cancelled;
    if (!isValue && names.some((name) => denialName.test(name))) return denied;
    // Ignoring wins over counting; what is in neither list counts.
    if (names.some((name) => lists.ignoreErrors.includes(name))) return ignored;
    const name = names.find((each) => lists.countErrors.includes(each)) ?? names[0]!;
    const outcome: Outcome = {
      kind: 'failure',
      error: name,
      errorFingerprint: lists.sameErrorOnly ? fingerprint(name, message) : 0,
      ...(retryAfterMs === undefined ? {} : { retryAtMs: atMs + retryAfterMs }),
    };
    if (!isValue && !lists.sameErrorOnly && what instanceof Error) {
      const plain = { lists, kind: Object.getPrototypeOf(what), name: what.name, outcome: Object.freeze(outcome) };
      if (isLike(what, plain)) last = plain;
    }
    return outcome;
  } catch {
    // It cannot be read (a revoked proxy, a hostile header), but how it came is known.
    return isValue ? success : { kind: 'failure', error: 'Error', errorFingerprint: 1 };
  }
}

/** Whether an error tells no more than another did. Spelt out: asking by name in a loop costs far more. */
function isLike(what: unknown, { kind, name }: PlainFailure): boolean {
  if (typeof what !== 'object' || what === null || Object.getPrototypeOf(what) !== kind) return false;
  const error = what as Readonly<Record<string, unknown>>;
  return (
    error.name === name &&
    error.code === undefined &&
    error.status === undefined &&
    error.statusCode === undefined &&
    error.response === undefined &&
    error.headers === undefined &&
    error.retryAfterMs === undefined &&
    error.approval_denied === undefined &&
    error.permission_denied === undefined &&
    error.approval_error === undefined &&
    error.policy_denied === undefined &&
    error.guardrail_denied === undefined
  );
}

/** Whether a value says that a person or a policy said no. */
export function isDenial(value: unknown): boolean {
  return denialFlags.some((flag) => peek(value, flag) === true);
}
