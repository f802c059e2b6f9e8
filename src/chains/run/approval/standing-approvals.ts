/** Standing approvals: for one chain with its steps as written, and the exact filled rules that asked. */

import { createHmac } from 'node:crypto';
import { SwitchgearError } from '../../../core/error.ts';
import { standingApprovalsMax } from '../../../core/limits.ts';
import { quoteValue } from '../../../core/quote.ts';
import type { Store } from '../../../ports/store.ts';
import type { Chain } from '../../file/chain.ts';
import { applyChanges, readValue, readValues } from '../storage/values.ts';

export interface StandingApproval {
  readonly id: string;
  readonly chain: string;
  /** The redacted rules that asked; the id is a hash that includes the filled parameters. */
  readonly rules: readonly string[];
  readonly by: string;
  readonly givenWallMs: number;
}

const prefix = 'standing/';

/** Finds the standing approval for these rules of a chain with its steps as written. */
export function findStandingApproval(
  store: Store,
  chain: Chain,
  rules: readonly string[],
): Promise<StandingApproval | undefined> {
  return readValue<StandingApproval>(store, approvalKey(chain.id, approvalId(store, chain, rules)));
}

/** Adds a standing approval; false if the store rejects it. `redactedRules` are the rules without parameters. */
export async function addStandingApproval(
  store: Store,
  chain: Chain,
  rules: readonly string[],
  redactedRules: readonly string[],
  by: string,
): Promise<boolean> {
  const { clock } = store;
  const id = approvalId(store, chain, rules);
  const approval: StandingApproval = { id, chain: chain.id, rules: redactedRules, by, givenWallMs: clock.wallMs() };
  const body = { type: 'standing-given', chain: chain.id, rules: redactedRules, by } as const;
  const update = (before: unknown) => before ?? approval;
  const entries = [{ body, place: {}, atMs: clock.nowMs() }];
  return (
    (
      await applyChanges(store, {
        values: [{ key: approvalKey(chain.id, id), releaseAfterWrite: true, update }],
        entries,
      })
    ).status === 'committed'
  );
}

export async function listStandingApprovals(store: Store): Promise<readonly StandingApproval[]> {
  const all = await readValues<StandingApproval>(store, prefix, standingApprovalsMax);
  return all.map(({ value }) => value).toSorted((a, b) => b.givenWallMs - a.givenWallMs);
}

/** Removes a standing approval. */
export async function dropStandingApproval(store: Store, approval: StandingApproval, by: string): Promise<void> {
  const { id, chain, rules } = approval;
  const body = { type: 'standing-dropped', chain, rules, by } as const;
  const entries = [{ body, place: {}, atMs: store.clock.nowMs() }];
  const changed = await applyChanges(store, {
    values: [{ key: approvalKey(chain, id), releaseAfterWrite: true, update: () => null }],
    entries,
  });
  if (changed.status === 'committed') return;
  throw new SwitchgearError(
    'store_unreachable',
    `the store could not remove the standing approval ${quoteValue(approval.id)}`,
  );
}

function approvalKey(chain: string, id: string): string {
  return `${prefix}${encodeURIComponent(chain)}/${id}`;
}

/** The id: a hash of the steps as written and the filled rules, from which neither can be read. */
function approvalId({ shared }: Store, { id, steps }: Chain, rules: readonly string[]): string {
  return createHmac('sha256', shared?.secret ?? '')
    .update(JSON.stringify([id, steps, rules]))
    .digest('hex')
    .slice(0, 16);
}
