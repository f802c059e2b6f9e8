/** Reads the totals that all processes of a store have counted, now and before. */

import {
  type CountGroup,
  type CountsOf,
  countFieldsOf,
  type NamedGroup,
  onlyLabel,
  otherNames,
  totalKey,
} from '../coordination/process-counters.ts';
import { namesPrefix } from '../ports/process-counters.ts';
import { metricLayers, metricNamesMax, spendScopes } from '../ports/process-counts.ts';
import type { CrossProcessStore } from '../ports/store.ts';

/** The totals of a store, by label. */
export type StoredCounts = { readonly [G in CountGroup]: ReadonlyMap<string, CountsOf<G>> };

/** Reads all totals; undefined if the store keeps none. Throws if the store is unavailable. */
export async function readStoredCounts(store: CrossProcessStore): Promise<StoredCounts | undefined> {
  const { shared } = store;
  if (shared.readCounters === undefined) return undefined;
  const names = await readNames(store);
  const labels: Readonly<Record<CountGroup, readonly string[]>> = {
    decision: metricLayers,
    breaker: [...names.breaker, otherNames],
    spend: spendScopes,
    code: [...names.code, otherNames],
    answer: [onlyLabel],
    event: [onlyLabel],
  };
  const series = (Object.keys(labels) as CountGroup[]).flatMap((group) =>
    labels[group].flatMap((label) => countFieldsOf(group).map((field) => ({ group, label, field: field as string }))),
  );
  const totals = await shared.readCounters(series.map(({ group, label, field }) => totalKey(group, label, field)));
  const read = Object.fromEntries(
    Object.keys(labels).map((group) => [group, new Map<string, Record<string, number>>()]),
  );
  series.forEach(({ group, label, field }, at) => {
    // Names beyond the bound are listed if several processes met them at once.
    const isNamed = group === 'breaker' || group === 'code';
    const own = isNamed && labels[group].indexOf(label) >= metricNamesMax ? otherNames : label;
    const counts = read[group]!.get(own) ?? {};
    counts[field] = (counts[field] ?? 0) + totals[at]! / (field.endsWith('Ms') ? 1000 : 1);
    read[group]!.set(own, counts);
  });
  return read as unknown as StoredCounts;
}

/** The names that have totals, in the order in which processes met them. */
async function readNames({ shared }: CrossProcessStore): Promise<Readonly<Record<NamedGroup, readonly string[]>>> {
  const cells = await shared.read(namesPrefix, 10);
  const namesOf = (group: NamedGroup) => {
    const state = cells.find(({ key }) => key === namesPrefix + group)?.state;
    return Array.isArray(state) ? state.filter((name) => typeof name === 'string' && name !== otherNames) : [];
  };
  return { breaker: namesOf('breaker'), code: namesOf('code') };
}
