/** One breaker in several processes' stores: it trips for all, is said once, and probes are granted once. */

import assert from 'node:assert/strict';
import { type Action, type Outcome, success } from '../../src/core/action.ts';
import { breaker } from '../../src/core/controls/breaker/control.ts';
import { defaultBreaker } from '../../src/core/controls/breaker/defaults.ts';
import { openBreaker } from '../../src/core/controls/breaker/phases.ts';
import { initialBreaker } from '../../src/core/controls/breaker/state.ts';
import { allow } from '../../src/core/verdict.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { bothStores, testOn } from '../stores/both-stores.ts';

const { kinds, newPlace } = bothStores();

const settings = { ...defaultBreaker, successThreshold: 1 };
const control = breaker(settings);
const failure: Outcome = { kind: 'failure', error: 'ToolError', errorFingerprint: 1 };

/** A process as far as its breaker goes. */
function side(store: SqliteStore) {
  const { shared, clock } = store;
  const said: string[] = [];
  const cell = store.cell('breaker/x', () => initialBreaker(settings), shared.breakers.cell);
  const holder = cell as { state: typeof cell.state };
  const sharedControl = shared.breakers.bind(control, cell, settings, 'x', ({ type }) => said.push(type));
  let ids = 0;
  return {
    store,
    cell,
    sharedControl,
    said,
    /** Lets a call in, or says why not. */
    admit() {
      const atMs = clock.nowMs();
      shared.refresh();
      const action = { id: ++ids, name: 'x' } as unknown as Action;
      const verdict = sharedControl.judge(cell.state, { type: 'action-proposed', atMs, action }, 'self');
      if (verdict !== allow) return verdict;
      const probe = sharedControl.acquireProbe(action, atMs);
      if (typeof probe === 'object') return probe;
      holder.state = sharedControl.apply(cell.state, { type: 'action-decided', atMs, action, verdict: allow }, 'self');
      return { action, atMs, generation: cell.state.generation, probe };
    },
    settle(permit: ReturnType<typeof this.admit>, outcome: Outcome) {
      assert.ok('action' in permit, JSON.stringify(permit));
      holder.state = sharedControl.apply(
        cell.state,
        { type: 'action-settled', atMs: clock.nowMs(), permit, outcome },
        'self',
      );
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  for (let look = 0; look < 400 && !isSo(); look++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(isSo());
}

for (const [name, make] of Object.entries(kinds)) {
  const test = testOn(name);
  const story = (title: string, tell: (one: ReturnType<typeof side>, two: ReturnType<typeof side>) => Promise<void>) =>
    test(`${name}: ${title}`, async () => {
      const place = newPlace();
      const [one, two] = [side(await make(place)), side(await make(place))];
      try {
        await tell(one, two);
      } finally {
        one.store.close();
        two.store.close();
      }
    });

  story('failures of two add up, the trip is everybody’s, and it is said and written once', async (one, two) => {
    for (const who of [one, two, one, two, one]) {
      who.settle(who.admit(), failure);
      await who.store.shared.settled();
      await until(() => {
        one.store.shared.refresh();
        two.store.shared.refresh();
        return one.cell.version === two.cell.version;
      });
    }
    for (const who of [one, two]) assert.equal((who.admit() as { code?: string }).code, 'circuit_open');
    assert.deepEqual([...one.said, ...two.said], ['breaker-opened']);
    const entries = await two.store.shared.entries(0, 10);
    assert.deepEqual(
      entries.map(({ type }) => type),
      ['breaker-opened'],
    );
    assert.equal(one.cell.state.requests, 3); // What each counted stays its own.
    assert.equal(two.cell.state.requests, 2);
  });

  story('a closed breaker that stays closed writes nothing', async (one, two) => {
    for (let call = 0; call < 20; call++) one.settle(one.admit(), success);
    await one.store.shared.settled();
    assert.equal(one.cell.version, 0);
    assert.deepEqual(await two.store.shared.read('breaker/', 1), []);
    one.settle(one.admit(), failure);
    one.settle(one.admit(), success); // It takes the failure back, everywhere.
    await one.store.shared.settled();
    const [stored] = await two.store.shared.read('breaker/', 1);
    assert.equal((stored?.state as { run: number } | undefined)?.run, 0);
  });

  story('one probe for both, by whoever comes first; its success closes for both', async (one, two) => {
    one.sharedControl.change((state) => {
      openBreaker(state, settings, 0, 'a trip by hand');
      state.openUntilMs = 1;
    }, 0);
    await one.store.shared.settled();
    await until(() => {
      two.store.shared.refresh();
      return two.cell.state.phase === 'open';
    });
    // Over a network the first is sent away while the request is out.
    let permit = one.admit();
    for (let tries = 0; 'code' in permit && permit.kind === 'wait' && tries < 100; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      permit = one.admit();
    }
    assert.ok('action' in permit && permit.probe, JSON.stringify(permit));
    await until(() => {
      two.store.shared.refresh();
      return two.cell.state.phase === 'half-open';
    });
    assert.equal((two.admit() as { code?: string }).code, 'circuit_open');
    one.settle(permit, success);
    await one.store.shared.settled();
    await until(() => {
      two.store.shared.refresh();
      return two.cell.state.phase === 'closed';
    });
    assert.ok('action' in two.admit());
    assert.deepEqual(one.said, ['breaker-opened', 'breaker-half-opened', 'breaker-closed']);
    assert.deepEqual(two.said, []);
  });
}
