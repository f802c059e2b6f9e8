/** Reads what an ending means: success, failure of a class, or neither. It never throws, whatever it is handed. */

import type { Outcome } from './action.ts';
import { success } from './action.ts';
import { nameLengthMax } from './limits.ts';
import type { BreakerSettings } from './settings.ts';

/** How a call ended: with a value, or with an error. */
export type Ending = { readonly value: unknown } | { readonly error: unknown };

const ignored: Outcome = Object.freeze({ kind: 'neutral', why: 'ignored' });
const denied: Outcome = Object.freeze({ kind: 'neutral', why: 'denied' });
const cancelledOutcome: Outcome = Object.freeze({ kind: 'neutral', why: 'cancelled' });

/** Flags by which tools and frameworks say that a person or a policy said no. The tool itself is not at fault. */
const denialFlags = ['approval_denied', 'permission_denied', 'approval_error', 'policy_denied', 'guardrail_denied'];
const denialNames = new Set([
  'ApprovalDenied',
  'ApprovalDeniedError',
  'PermissionDenied',
  'PermissionDeniedError',
  'ApprovalError',
  'ApprovalProcessError',
  'PolicyDenied',
  'PolicyDeniedError',
  'GuardrailDenied',
  'GuardrailDeniedError',
]);

/** Codes of Node, HTTP clients and JSON-RPC, as the names that policies use. */
const namesOfCodes: Readonly<Record<string, string>> = {
  ENOENT: 'FileNotFound',
  ERR_INVALID_ARG_TYPE: 'InvalidArguments',
  ERR_INVALID_ARG_VALUE: 'InvalidArguments',
  '-32602': 'InvalidArguments',
  ETIMEDOUT: 'NetworkError',
  ESOCKETTIMEDOUT: 'NetworkError',
  ECONNREFUSED: 'NetworkError',
  ECONNRESET: 'NetworkError',
  ENOTFOUND: 'NetworkError',
  EAI_AGAIN: 'NetworkError',
  EPIPE: 'NetworkError',
  UND_ERR_CONNECT_TIMEOUT: 'NetworkError',
  UND_ERR_HEADERS_TIMEOUT: 'NetworkError',
  UND_ERR_BODY_TIMEOUT: 'NetworkError',
};

/** What an error calls itself and is called: own name, class chain, code, and the policy's words for them. */
export interface ErrorFacts {
  readonly names: readonly string[];
  readonly message: string;
  readonly retryAfterMs: number | undefined;
}

const chainMax = 8;

/** Reads an error without trusting it. */
export function readError(error: unknown): ErrorFacts {
  const names: string[] = [];
  const add = (name: unknown) => {
    if ((typeof name === 'string' || typeof name === 'number') && names.length < 2 * chainMax) {
      const text = String(name).slice(0, nameLengthMax);
      if (text !== '' && !names.includes(text)) names.push(text);
    }
  };
  if (typeof error !== 'object' || error === null) {
    return {
      names: ['Error'],
      message: typeof error === 'string' ? error : String(typeof error),
      retryAfterMs: undefined,
    };
  }
  add(peek(error, 'name'));
  try {
    let proto: unknown = Object.getPrototypeOf(error);
    for (let depth = 0; depth < chainMax && typeof proto === 'object' && proto !== null; depth++) {
      add(peek(peek(proto, 'constructor'), 'name'));
      proto = Object.getPrototypeOf(proto);
    }
  } catch {
    add('Error'); // A proxy may refuse to show its class.
  }
  const code = peek(error, 'code');
  add(code);
  if (typeof code === 'string' || typeof code === 'number') add(own(namesOfCodes, String(code)));
  const status = statusOf(error);
  if (status === 429) add('RateLimitExceeded');
  else if (status === 408 || (status >= 500 && status < 600)) add('NetworkError');
  else if (status === 400 || status === 422) add('InvalidArguments');
  if (names.includes('TimeoutError')) add('NetworkError');
  const message = peek(error, 'message');
  return { names, message: typeof message === 'string' ? message : '', retryAfterMs: retryAfterOf(error) };
}

function own(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

function peek(value: unknown, key: string): unknown {
  try {
    return value === null || value === undefined ? undefined : (value as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function statusOf(error: unknown): number {
  const status = peek(error, 'status') ?? peek(error, 'statusCode') ?? peek(peek(error, 'response'), 'status');
  return typeof status === 'number' ? status : 0;
}

/** The wait that the callee asked for: a property in milliseconds or the HTTP header in seconds. */
function retryAfterOf(error: unknown): number | undefined {
  const given = peek(error, 'retryAfterMs');
  if (typeof given === 'number' && given > 0 && given < 1e12) return given;
  const headers = peek(error, 'headers') ?? peek(peek(error, 'response'), 'headers');
  let header = peek(headers, 'retry-after');
  const get = peek(headers, 'get');
  if (header === undefined && typeof get === 'function') {
    try {
      header = Reflect.apply(get, headers, ['retry-after']);
    } catch {
      return undefined;
    }
  }
  const text = typeof header === 'number' ? String(header) : header;
  return typeof text === 'string' && /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}

/** What the ending of a call means for the breaker, with the error's fingerprint made by the caller. */
export function classify(
  ending: Ending,
  settings: Pick<BreakerSettings, 'countErrors' | 'ignoreErrors' | 'sameErrorOnly'>,
  atMs: number,
  fingerprint: (name: string, message: string) => number,
): Outcome {
  if ('value' in ending) return classifyValue(ending.value, settings, fingerprint);
  const facts = readError(ending.error);
  if (facts.names.includes('AbortError')) return cancelledOutcome;
  if (facts.names.some((name) => denialNames.has(name)) || hasDenialFlag(ending.error)) return denied;
  return failureOf(facts, settings, atMs, fingerprint);
}

/** A failure, unless the settings say that this class of error is none. Ignoring wins over counting. */
function failureOf(
  facts: ErrorFacts,
  settings: Pick<BreakerSettings, 'countErrors' | 'ignoreErrors' | 'sameErrorOnly'>,
  atMs: number,
  fingerprint: (name: string, message: string) => number,
): Outcome {
  if (facts.names.some((name) => settings.ignoreErrors.includes(name))) return ignored;
  const error = facts.names.find((name) => settings.countErrors.includes(name)) ?? facts.names[0] ?? 'Error';
  const errorFingerprint = settings.sameErrorOnly ? fingerprint(error, facts.message) : 0;
  const failure = { kind: 'failure', error, errorFingerprint } as const;
  return facts.retryAfterMs === undefined ? failure : { ...failure, retryAtMs: atMs + facts.retryAfterMs };
}

function hasDenialFlag(value: unknown): boolean {
  return denialFlags.some((flag) => peek(value, flag) === true);
}

/** A returned value is a success unless it says itself that it is an error: `isError: true`, or a truthy `error`. */
function classifyValue(
  value: unknown,
  settings: Pick<BreakerSettings, 'countErrors' | 'ignoreErrors' | 'sameErrorOnly'>,
  fingerprint: (name: string, message: string) => number,
): Outcome {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return success;
  if (hasDenialFlag(value)) return denied;
  const error = peek(value, 'error');
  if (peek(value, 'isError') !== true && !error) return success;
  const facts = typeof error === 'object' && error !== null ? readError(error) : undefined;
  const names = facts === undefined || facts.names[0] === 'Object' ? ['ToolError'] : facts.names;
  const message = facts?.message ?? (typeof error === 'string' ? error : '');
  return failureOf({ names, message, retryAfterMs: undefined }, settings, 0, fingerprint);
}
