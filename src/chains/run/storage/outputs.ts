/** Reads the outputs of the steps of a run. */

import type { Store } from '../../../ports/store.ts';
import type { RunState } from '../state/run-state.ts';
import { readOutput } from './runs.ts';

/** Reads the outputs of finished steps into `outputs`; returns the id of a step whose output is missing. */
export async function readOutputs(
  store: Store,
  { id, chain, steps }: RunState,
  outputs: Record<string, unknown>,
): Promise<string | undefined> {
  for (const [at, { id: step, outputKey }] of chain.steps.entries()) {
    if (outputKey === undefined || steps[at]?.status !== 'done') continue;
    const output = await readOutput(store, id, at);
    if (output === undefined) return step;
    outputs[outputKey] = output;
  }
  return undefined;
}
