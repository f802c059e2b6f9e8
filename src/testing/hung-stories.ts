/** The stories of the adapter suite about calls that do not end: time limits and halts end them in every framework. */

import assert from 'node:assert/strict';
import type { HostTool, HostTurn } from './adapter-harness.ts';
import { type AdapterStory, settleUntil } from './adapter-stories.ts';
import type { SimulatedClock } from './simulated-clock.ts';

const callHung: HostTurn = { calls: [{ tool: 'hang', input: {} }] };
const done: HostTurn = { text: 'Done.' };
const minute = { task: { max_duration_secs: 60 } };

/** Something that does not end: as it is, or with an error of its own when its signal aborts. */
function createHang(isPolite: boolean) {
  const signals: (AbortSignal | undefined)[] = [];
  const hang = (signal?: AbortSignal) => {
    signals.push(signal);
    return new Promise<never>((_, reject) => {
      if (isPolite) signal?.addEventListener('abort', () => reject(new Error('the client gave up')), { once: true });
    });
  };
  return { signals, hang };
}

/** Lets time pass until a run ends; fails if it does not. */
async function elapseUntilEnd<T>(clock: SimulatedClock, running: Promise<T>, isOut: () => boolean): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  running.then(end, end);
  await settleUntil(() => isOut() || isOver);
  assert.ok(isOut(), 'nothing hung');
  for (let secs = 0; secs < 300 && !isOver; secs++) {
    await clock.elapse(1000);
    await settleUntil(() => isOver, 50);
  }
  await settleUntil(() => isOver);
  assert.ok(isOver, 'the run hangs');
  return running;
}

export const hungStories: readonly AdapterStory[] = [
  ...[false, true].map(
    (isPolite): AdapterStory => ({
      title: `a hung model ${isPolite ? 'that fails at its signal ' : ''}ends the run out of time with the reason`,
      needs: ['models', 'closes'],
      async run({ gear, play, clock }) {
        const { hang, signals } = createHang(isPolite);
        const running = play(gear(minute), [{ wait: hang, text: 'Too late.' }]);
        const { halt, answer } = await elapseUntilEnd(clock, running, () => signals.length > 0);
        assert.equal(halt, 'duration_limit');
        assert.match(answer, /running for/);
        assert.ok(signals[0]?.aborted !== false, 'the signal of the model call did not abort');
      },
    }),
  ),
  {
    title: 'an endless stream ends the run out of time with the reason, and what came of it is estimated',
    needs: ['models', 'streams', 'closes'],
    async run({ gear, play, clock }) {
      let parts = 0;
      async function* chunks(): AsyncGenerator<string> {
        for (;;) {
          parts++;
          yield 'word after word ';
          await new Promise((resolve) => clock.after(500, () => resolve(undefined)));
        }
      }
      const guarded = gear(minute);
      const { halt } = await elapseUntilEnd(clock, play(guarded, [{ chunks }]), () => parts > 0);
      assert.equal(halt, 'duration_limit');
      assert.ok(parts > 50, `${parts} parts came`);
      const costs = guarded.journal().flatMap((entry) => (entry.type === 'usage-observed' ? [entry.cost] : []));
      assert.ok(costs.some(({ estimated }) => estimated === true) || costs.length === 0);
      assert.ok(guarded.journal().some(({ type }) => type === 'usage-estimated'));
    },
  },
  {
    title: 'a hung tool times out, its failure counts, and the run goes on',
    needs: ['timeouts'],
    async run({ gear, play, clock }) {
      const { hang, signals } = createHang(false);
      const tools: Record<string, HostTool> = { hang: (_, signal) => hang(signal) };
      const guarded = gear({ tools: { hang: { timeout_secs: 30 } } });
      const running = play(guarded, [callHung, done], { tools });
      const { answer, halt, toolResults } = await elapseUntilEnd(clock, running, () => signals.length > 0);
      assert.deepEqual([answer, halt], ['Done.', undefined]);
      assert.equal(toolResults.length, 1);
      assert.equal(guarded.breaker('hang').stats.totalFailures, 1);
    },
  },
  {
    title: 'a hung tool ends with its run',
    needs: ['closes'],
    async run({ gear, play, clock }) {
      const { hang, signals } = createHang(false);
      const tools: Record<string, HostTool> = { hang: (_, signal) => hang(signal) };
      const guarded = gear({ ...minute, tools: { hang: { timeout_secs: 600 } } });
      const running = play(guarded, [callHung, done], { tools });
      const { halt } = await elapseUntilEnd(clock, running, () => signals.length > 0);
      assert.equal(halt, 'duration_limit');
    },
  },
];
