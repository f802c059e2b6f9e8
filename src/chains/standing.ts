/** Approvals for good: bound to a chain and the exact set of rules that asked, never to a rule that was changed. */

import { createHash } from 'node:crypto';
import { SwitchgearError } from '../core/error.ts';
import { standingMax } from '../core/limits.ts';
import { quoted } from '../core/quoted.ts';
import type { Store } from '../ports/store.ts';
import { change, readValue, readValues } from './run-cells.ts';
import { sameRules } from './run-transitions.ts';

export interface Standing {
  readonly id: string;
  readonly chain: string;
  /** Ids of rules, sorted: a condition that was filled with another value is another rule. */
  readonly rules: readonly string[];
  readonly by: string;
  readonly givenWallMs: number;
}

const prefix = 'standing/';

/** The approval for good of these rules on a chain, if somebody gave one. */
export async function findStanding(
  store: Store,
  chain: string,
  rules: readonly string[],
): Promise<Standing | undefined> {
  const found = await readValue<Standing>(store, keyOf(chain, rules));
  return found !== undefined && sameRules(found.rules, rules) ? found : undefined;
}

/** Gives one; false where the store did not take it. */
export async function giveStanding(
  store: Store,
  chain: string,
  rules: readonly string[],
  by: string,
): Promise<boolean> {
  const { clock } = store;
  const standing: Standing = { id: idOf(chain, rules), chain, rules, by, givenWallMs: clock.wallMs() };
  const body = { type: 'standing-given', chain, rules, by } as const;
  const step = (before: unknown) => before ?? standing;
  const notes = [{ body, place: {}, atMs: clock.nowMs() }];
  return (await change(store, { values: [{ key: keyOf(chain, rules), letGo: true, step }], notes })).status === 'done';
}

export async function listStanding(store: Store): Promise<readonly Standing[]> {
  const all = await readValues<Standing>(store, prefix, standingMax);
  return all.map(({ value }) => value).toSorted((one, other) => other.givenWallMs - one.givenWallMs);
}

/** Takes one back. */
export async function dropStanding(store: Store, standing: Standing, by: string): Promise<void> {
  const { chain, rules } = standing;
  const body = { type: 'standing-dropped', chain, rules, by } as const;
  const notes = [{ body, place: {}, atMs: store.clock.nowMs() }];
  const changed = await change(store, { values: [{ key: keyOf(chain, rules), letGo: true, step: () => null }], notes });
  if (changed.status === 'done') return;
  throw new SwitchgearError('store_unreachable', `the store did not take back the approval ${quoted(standing.id)}`);
}

function keyOf(chain: string, rules: readonly string[]): string {
  return `${prefix}${encodeURIComponent(chain)}/${idOf(chain, rules)}`;
}

function idOf(chain: string, rules: readonly string[]): string {
  return createHash('sha256')
    .update(JSON.stringify([chain, rules]))
    .digest('hex')
    .slice(0, 16);
}
