/** Finds the refusal in whatever a call, a task or a framework returned or threw. */

import { haltSearchMax } from '../limits.ts';
import { type Refusal, refusalOf } from '../refusal.ts';

/** The data of a refusal in the result of a framework: a refusal as plain data. */
export type HaltFacts = Refusal;

/** The part of a framework's result that a halted run has. */
export interface HaltedResult {
  /** The refusal that halted the run. */
  readonly switchgear?: HaltFacts;
}

/** The keys under which errors and results hold other errors and results. */
const errorKeys = ['cause', 'error', 'errors', 'reason', 'originalError', 'lastError'] as const;
const resultKeys = [
  'switchgear',
  'providerMetadata',
  'response_metadata',
  '_meta',
  'tripwire',
  'metadata',
  'data',
] as const;
/** Lists whose last item tells how a run ended. */
const listKeys = ['steps', 'messages', 'errors'] as const;

/**
 * Returns the refusal behind a result or an error of any adapter, of `gear.task` or of a guarded call; undefined if
 * there is none. It follows causes, wrapped and collected errors, and errors that SDKs made of a refused request. If
 * both are there, a refusal that halted the task comes before one that refused a call: see its `kind`.
 * @example
 * import { createSwitchgear, haltOf } from 'switchgear';
 *
 * const gear = createSwitchgear();
 * const result = await gear.task(async () => 'done');
 * console.log(haltOf(result)?.code); // undefined
 */
export function haltOf(value: unknown): Refusal | undefined {
  const queue: unknown[] = [value];
  const seen = new Set<unknown>();
  let denied: Refusal | undefined;
  for (let at = 0; at < queue.length && at < haltSearchMax; at++) {
    const current = queue[at];
    if (typeof current !== 'object' || current === null || seen.has(current)) continue;
    seen.add(current);
    const refusal = refusalOf(current) ?? readFacts(current);
    if (refusal?.kind === 'halt') return refusal;
    denied ??= refusal;
    for (const key of [...errorKeys, ...resultKeys]) queue.push(read(current, key));
    for (const key of listKeys) {
      const list = read(current, key);
      if (Array.isArray(list)) queue.push(...(key === 'errors' ? list.slice(0, haltSearchMax) : list.slice(-1)));
    }
  }
  return denied;
}

/** Reads a refusal that came as plain data: in a result, in an error of another copy of this package, in a response. */
function readFacts(value: object): Refusal | undefined {
  const facts = read(value, 'refusal') ?? read(value, 'switchgear') ?? read(value, 'halt');
  const isBody = read(value, 'type') === 'switchgear_refused';
  const isRefusal = typeof read(value, 'control') === 'string' && typeof read(value, 'remediation') === 'string';
  const source = isBody || isRefusal ? value : facts;
  if (typeof source !== 'object' || source === null) return undefined;
  const [code, message, explanation] = ['code', 'message', 'explanation'].map((key) => read(source, key));
  if (typeof code !== 'string' || typeof message !== 'string' || typeof explanation !== 'string') return undefined;
  const rest = source as Partial<Refusal>;
  return {
    code: code as Refusal['code'],
    control: String(rest.control ?? ''),
    kind: rest.kind === 'deny' ? 'deny' : 'halt',
    counters: typeof rest.counters === 'object' && rest.counters !== null ? rest.counters : {},
    message,
    remediation: String(rest.remediation ?? ''),
    explanation,
    name: String(rest.name ?? ''),
    ...(typeof rest.retryAtMs === 'number' && { retryAtMs: rest.retryAtMs }),
    ...(typeof rest.task === 'string' && { task: rest.task }),
  };
}

function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined; // A getter that throws has nothing to say.
  }
}
