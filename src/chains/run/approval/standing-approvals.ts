/** Approvals for good: bound to a chain as it is written and the exact rules that asked, as they were filled. */

import { createHmac } from 'node:crypto';
import { SwitchgearError } from '../../../core/error.ts';
import { standingMax } from '../../../core/limits.ts';
import { quoted } from '../../../core/quote.ts';
import type { Store } from '../../../ports/store.ts';
import type { Chain } from '../../file/chain.ts';
import { change, readValue, readValues } from '../storage/values.ts';

export interface Standing {
  readonly id: string;
  readonly chain: string;
  /** The rules that asked, as they may be kept; the id also holds what they were filled with. */
  readonly rules: readonly string[];
  readonly by: string;
  readonly givenWallMs: number;
}

const prefix = 'standing/';

/** The approval for good of these rules on a chain as it is written, if somebody gave one. */
export function findStanding(store: Store, chain: Chain, rules: readonly string[]): Promise<Standing | undefined> {
  return readValue<Standing>(store, keyOf(chain.id, idOf(store, chain, rules)));
}

/** Gives one; false where the store did not take it. `shown` is how its rules may be kept. */
export async function giveStanding(
  store: Store,
  chain: Chain,
  rules: readonly string[],
  shown: readonly string[],
  by: string,
): Promise<boolean> {
  const { clock } = store;
  const id = idOf(store, chain, rules);
  const standing: Standing = { id, chain: chain.id, rules: shown, by, givenWallMs: clock.wallMs() };
  const body = { type: 'standing-given', chain: chain.id, rules: shown, by } as const;
  const step = (before: unknown) => before ?? standing;
  const notes = [{ body, place: {}, atMs: clock.nowMs() }];
  return (
    (await change(store, { values: [{ key: keyOf(chain.id, id), letGo: true, step }], notes })).status === 'committed'
  );
}

export async function listStanding(store: Store): Promise<readonly Standing[]> {
  const all = await readValues<Standing>(store, prefix, standingMax);
  return all.map(({ value }) => value).toSorted((one, other) => other.givenWallMs - one.givenWallMs);
}

/** Takes one back. */
export async function dropStanding(store: Store, standing: Standing, by: string): Promise<void> {
  const { id, chain, rules } = standing;
  const body = { type: 'standing-dropped', chain, rules, by } as const;
  const notes = [{ body, place: {}, atMs: store.clock.nowMs() }];
  const changed = await change(store, { values: [{ key: keyOf(chain, id), letGo: true, step: () => null }], notes });
  if (changed.status === 'committed') return;
  throw new SwitchgearError('store_unreachable', `the store did not take back the approval ${quoted(standing.id)}`);
}

function keyOf(chain: string, id: string): string {
  return `${prefix}${encodeURIComponent(chain)}/${id}`;
}

/** Made of the steps as they are written and the rules as they were filled; nothing can be read from it. */
function idOf({ shared }: Store, { id, steps }: Chain, rules: readonly string[]): string {
  return createHmac('sha256', shared?.secret ?? '')
    .update(JSON.stringify([id, steps, rules]))
    .digest('hex')
    .slice(0, 16);
}
