/** Approvals for good: bound to a chain as it is written and the exact rules that asked, as they were filled. */

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
  /** The rules that asked, as they may be kept; the id also holds what they were filled with. */
  readonly rules: readonly string[];
  readonly by: string;
  readonly givenWallMs: number;
}

const prefix = 'standing/';

/** The approval for good of these rules on a chain as it is written, if somebody gave one. */
export function findStandingApproval(
  store: Store,
  chain: Chain,
  rules: readonly string[],
): Promise<StandingApproval | undefined> {
  return readValue<StandingApproval>(store, approvalKey(chain.id, approvalId(store, chain, rules)));
}

/** Gives one; false where the store did not take it. `redactedRules` is how its rules may be kept. */
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

/** Takes one back. */
export async function dropStandingApproval(store: Store, approval: StandingApproval, by: string): Promise<void> {
  const { id, chain, rules } = approval;
  const body = { type: 'standing-dropped', chain, rules, by } as const;
  const entries = [{ body, place: {}, atMs: store.clock.nowMs() }];
  const changed = await applyChanges(store, {
    values: [{ key: approvalKey(chain, id), releaseAfterWrite: true, update: () => null }],
    entries,
  });
  if (changed.status === 'committed') return;
  throw new SwitchgearError('store_unreachable', `the store did not take back the approval ${quoteValue(approval.id)}`);
}

function approvalKey(chain: string, id: string): string {
  return `${prefix}${encodeURIComponent(chain)}/${id}`;
}

/** Made of the steps as they are written and the rules as they were filled; nothing can be read from it. */
function approvalId({ shared }: Store, { id, steps }: Chain, rules: readonly string[]): string {
  return createHmac('sha256', shared?.secret ?? '')
    .update(JSON.stringify([id, steps, rules]))
    .digest('hex')
    .slice(0, 16);
}
