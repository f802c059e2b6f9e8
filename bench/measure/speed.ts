/** What one call through a breaker costs, next to the same call without it. */

import type { Figures } from '../bench-runner.ts';
import { contender } from './contenders.ts';
import { type Side, timeSides } from './slices.ts';

export type Scenario = 'success' | 'in-flight' | 'failure' | 'refused' | 'refused-value';

/** Arguments: the contender and the scenario. A refusal is compared with a bare success. */
export async function speed([name = '', scenario = '']: readonly string[]): Promise<Figures> {
  const guarded = await contender(name);
  const bare = await contender('bare');
  const [base, side] = sidesOf(scenario as Scenario);
  const [bareNs = 0, ns = 0] = await timeSides([base, side]);
  return { bareNs, ns, ratio: ns / bareNs };

  function sidesOf(wanted: Scenario): readonly [Side, Side] {
    const ok = guarded.bareOk ?? bare.ok;
    switch (wanted) {
      case 'success':
        return [
          { call: ok, shape: 'await' },
          { call: guarded.ok, shape: 'await' },
        ];
      case 'in-flight':
        return [
          { call: ok, shape: 'batch' },
          { call: guarded.ok, shape: 'batch' },
        ];
      case 'failure': {
        const side: Side = { call: guarded.bad, shape: 'catch' };
        // A failure in opossum costs more the more calls its window holds: keep that number small and the same.
        const kept = name.startsWith('opossum') ? { ...side, calls: 100 } : side;
        return [{ call: guarded.bareBad ?? bare.bad, shape: 'catch' }, kept];
      }
      case 'refused':
        return [
          { call: bare.ok, shape: 'await' },
          { call: guarded.refused, shape: 'catch' },
        ];
      case 'refused-value':
        if (guarded.refusedValue === undefined) throw new Error(`${name} refuses with promises only`);
        return [
          { call: bare.ok, shape: 'await' },
          { call: guarded.refusedValue, shape: 'sync' },
        ];
    }
  }
}
