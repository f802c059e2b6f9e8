/** The breakers that are compared, each as three calls: one that succeeds, one that fails, one that is refused. */

import type { IBreaker } from 'cockatiel';
import type { Breaker, BreakerOptions, createBreaker } from '../../src/breaker.ts';
import { fail, loadBreaker, loadOpossum, succeed } from './library.ts';
import type { Call } from './slices.ts';

export interface Contender {
  readonly ok: Call;
  readonly bad: Call;
  readonly refused: Call;
  /** What its calls are compared with, where that is not the plain call. */
  readonly bareOk?: Call;
  readonly bareBad?: Call;
  /** A refusal that no promise carries. */
  readonly refusedValue?: Call;
}

/** A threshold that a benchmark never reaches. */
const never = 1_000_000_000;

const contenderNames = [
  'switchgear',
  'switchgear/slow',
  'switchgear/timeout',
  'switchgear/two-step',
  'cockatiel/consecutive',
  'cockatiel/count',
  'cockatiel/sampling',
  'opossum/default',
  'opossum/no-timeout',
  'opossum/lean',
] as const;

/** Everyone, or in a hurry one of each library. */
export function contenders(quick: boolean): readonly string[] {
  const left = ['cockatiel/count', 'cockatiel/sampling', 'opossum/no-timeout'];
  return quick ? contenderNames.filter((name) => !left.includes(name)) : contenderNames;
}

export async function contender(name: string): Promise<Contender> {
  const [library, variant = ''] = name.split('/');
  switch (library) {
    case 'bare':
      if (variant === 'handler') return { ok: handler(succeed), bad: handler(fail), refused: handler(fail) };
      return { ok: (at) => succeed(at), bad: (at) => fail(at), refused: (at) => fail(at) };
    case 'switchgear':
      return variant === 'two-step' ? twoStep() : switchgear(variant);
    case 'cockatiel':
      return cockatiel(variant);
    case 'opossum':
      return opossum(variant);
    default:
      throw new Error(`there is no contender ${JSON.stringify(name)}`);
  }
}

const options: Readonly<Record<string, BreakerOptions>> = {
  '': {},
  slow: { slowCallSecs: 1 },
  timeout: { timeoutSecs: 30 },
};

/** A breaker with somebody listening, as in use. */
function createListenedBreaker(create: typeof createBreaker, breakerOptions: BreakerOptions): Breaker {
  const breaker = create(breakerOptions);
  breaker.onChange(() => {});
  return breaker;
}

async function switchgear(variant: string): Promise<Contender> {
  const { createBreaker } = await loadBreaker();
  const breakerOptions = options[variant] ?? {};
  const good = createListenedBreaker(createBreaker, breakerOptions);
  const failing = createListenedBreaker(createBreaker, { ...breakerOptions, failureThreshold: never });
  const open = createListenedBreaker(createBreaker, breakerOptions);
  open.trip();
  return {
    ok: (at) => good.execute(succeed, at),
    bad: (at) => failing.execute(fail, at),
    refused: (at) => open.execute(succeed, at),
    refusedValue: () => open.admit(),
  };
}

/** An async function of the caller's own. */
function handler(work: (at: number) => Promise<number>): Call {
  return async (at) => {
    const value = await work(at);
    return value;
  };
}

/** Permits in an async function that the caller has anyway, against that function without them. */
async function twoStep(): Promise<Contender> {
  const { createBreaker } = await loadBreaker();
  const failed = { kind: 'failure', error: 'ToolError', errorFingerprint: 0 } as const;
  const guarded = (breaker: Breaker, work: (at: number) => Promise<number>) => async (at: number) => {
    const permit = breaker.admit();
    if (permit.refused) return permit;
    try {
      const value = await work(at);
      breaker.settle(permit);
      return value;
    } catch (error) {
      breaker.settle(permit, failed);
      throw error;
    }
  };
  const open = createListenedBreaker(createBreaker, {});
  open.trip();
  return {
    ok: guarded(createListenedBreaker(createBreaker, {}), succeed),
    bad: guarded(createListenedBreaker(createBreaker, { failureThreshold: never }), fail),
    refused: guarded(open, succeed),
    bareOk: handler(succeed),
    bareBad: handler(fail),
  };
}

async function cockatiel(variant: string): Promise<Contender> {
  const { circuitBreaker, handleAll, ConsecutiveBreaker, CountBreaker, SamplingBreaker } = await import('cockatiel');
  const policy = (breaker: IBreaker) => circuitBreaker(handleAll, { halfOpenAfter: 3_600_000, breaker });
  const make = () => {
    if (variant === 'consecutive') return new ConsecutiveBreaker(never);
    if (variant === 'sampling')
      return new SamplingBreaker({ threshold: 0.999_999, duration: 10_000, minimumRps: never });
    return new CountBreaker({ threshold: 0.99, size: 100, minimumNumberOfCalls: 100 });
  };
  const good = policy(make());
  const failing = policy(make());
  const open = policy(new ConsecutiveBreaker(1));
  await open.execute(() => fail(0)).catch(() => {});
  // A count window trips when every call in it fails, so that one in fifty has to succeed.
  const mixed = variant === 'count';
  return {
    ok: (at) => good.execute(() => succeed(at)),
    bad: (at) => failing.execute(() => (mixed && at % 50 === 0 ? succeed(at) : fail(at))),
    refused: (at) => open.execute(() => succeed(at)),
  };
}

const opossumOptions: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  default: {},
  'no-timeout': { timeout: false },
  lean: { timeout: false, rollingPercentilesEnabled: false, enableSnapshots: false },
};

async function opossum(variant: string): Promise<Contender> {
  const CircuitBreaker = await loadOpossum();
  const make = (work: (at: number) => Promise<number>) =>
    new CircuitBreaker(work, { ...opossumOptions[variant], errorThresholdPercentage: 100 });
  const good = make(succeed);
  const failing = make(fail);
  const open = make(succeed);
  open.open();
  return { ok: (at) => good.fire(at), bad: (at) => failing.fire(at), refused: (at) => open.fire(at) };
}
