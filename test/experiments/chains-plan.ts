/** The chain of the experiment: six steps that count their executions, one of which may run twice. */

import type { Chain } from '../../src/chains/file/chain.ts';

export const stepIds = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
/** The one that is marked idempotent. */
export const freeStep = 'd';

export const chain: Chain = {
  id: 'counted',
  params: [
    { name: 'run', type: 'text', required: true },
    { name: 'waitMs', type: 'number', required: true },
  ],
  rules: [],
  ruleSettings: {},
  steps: stepIds.map((id) => ({
    id,
    ability: 'count',
    args: { run: '{{run}}', step: id, waitMs: '{{waitMs}}' },
    outputKey: id,
    idempotent: id === freeStep,
  })),
};
