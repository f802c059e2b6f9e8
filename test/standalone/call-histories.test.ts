/** Two breakers side by side through every short history: what must not matter does not. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { type BreakerOptions, createBreaker, restoreBreaker, saveBreaker } from '../../src/breaker.ts';
import { simulatedClock } from '../../src/testing/simulated-clock.ts';
import { compare, type Twist } from './compare-histories.ts';

const quick: BreakerOptions = { failureThreshold: 1, successThreshold: 1 };
const kinds: Readonly<Record<string, BreakerOptions>> = {
  'failures in a row': { failureThreshold: 2, successThreshold: 1 },
  'a quick trip, two probes': { ...quick, halfOpenPermits: 2, successThreshold: 2 },
  'a window of calls': { trip: 'count_window', windowCalls: 3, failureThreshold: 2, successThreshold: 1 },
  'a window of time': { trip: 'time_window', monitorWindowSecs: 200, failureThreshold: 2, successThreshold: 1 },
  'growing waits': { ...quick, recoveryFactor: 2 },
  'one call at a time': { ...quick, maxConcurrent: 1 },
};

const wallJumps: Twist = {
  each: ({ clock }, _options, step) => clock.wallJump(step % 2 === 0 ? -3_600_000 : 86_400_000),
};

const savedAndTakenUp: Twist = {
  each(stage, options, step) {
    if (stage.out.length > 0) return; // Calls that are out are late elsewhere.
    const saved = JSON.parse(JSON.stringify(saveBreaker(stage.breaker)));
    stage.clock = simulatedClock(step * 7_777);
    stage.breaker = restoreBreaker(saved, { ...options, clock: stage.clock });
  },
};

const listeners: Twist = {
  start({ breaker }) {
    const leave = breaker.onChange(() => {
      leave();
      breaker.onChange(() => saveBreaker(breaker));
    });
    breaker.onChange(() => [breaker.state, breaker.stats]);
  },
};

for (const [name, options] of Object.entries(kinds)) {
  test(`a jump of the wall clock does not change the history: ${name}`, () => same(options, wallJumps));
  test(`listeners do not change the history: ${name}`, () => same(options, listeners));
  test(`saving and restoring does not change the history: ${name}`, () => same(options, savedAndTakenUp));
}

function same(options: BreakerOptions, twist: Twist): void {
  const { histories, seen, parted } = compare(options, 4, twist);
  assert.equal(parted, undefined);
  assert.equal(histories, 8 ** 4);
  assert.deepEqual([...seen].sort(), ['CLOSED', 'HALF_OPEN', 'OPEN']);
}

test('saving and restoring before every step does not change longer histories with two probes', () => {
  const { histories, parted } = compare(kinds['a quick trip, two probes']!, 5, savedAndTakenUp);
  assert.equal(parted, undefined);
  assert.equal(histories, 8 ** 5);
});

test('the comparison of histories reports a reset and a lost state', () => {
  const resets: Twist = { each: ({ breaker }, _options, step) => step === 2 && breaker.reset() };
  assert.match(String(compare(quick, 3, resets).parted), /but/);
  const forgets: Twist = {
    each(stage, options) {
      stage.breaker = createBreaker({ ...options, clock: stage.clock });
    },
  };
  assert.match(String(compare(quick, 3, forgets).parted), /but/);
});

test('listeners that throw do not change the history, and their errors are reported', () => {
  const url = new URL('./compare-histories.ts', import.meta.url).href;
  const script = `
    import { compare } from ${JSON.stringify(url)};
    let reported = 0;
    process.on('uncaughtException', () => (reported += 1e9));
    process.on('warning', ({ message }) => (reported += /listener/.test(message) ? 1 : 1e9));
    const throws = { start: ({ breaker }) => void breaker.onChange(() => { throw new Error('listener'); }) };
    const { parted = 'never' } = compare(${JSON.stringify(quick)}, 4, throws);
    setImmediate(() => console.log(JSON.stringify({ parted, reported })));
  `;
  const said = JSON.parse(
    execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], { encoding: 'utf8' }),
  ) as { readonly parted: string; readonly reported: number };
  assert.equal(said.parted, 'never');
  assert.ok(said.reported > 1_000 && said.reported < 1e9, `${said.reported} errors were reported`);
});
