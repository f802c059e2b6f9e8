/** Lists and revokes standing approvals. */

import type { StandingApproval } from '../chains/run/approval/standing-approval.ts';
import { dropStandingApproval, listStandingApprovals } from '../chains/run/approval/standing-approvals.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import type { Operator } from './authorize.ts';
import { findByIdPrefix } from './cards.ts';

/** Reads the standing approvals of a store, the newest first. */
export function readStandingApprovals(store: CrossProcessStore): Promise<readonly StandingApproval[]> {
  return listStandingApprovals(store);
}

/** Revokes the standing approval whose id has this prefix, and returns it. */
export async function revokeStandingApproval(
  store: CrossProcessStore,
  idPrefix: string,
  { by }: Operator,
): Promise<StandingApproval> {
  const approval = findByIdPrefix(await listStandingApprovals(store), idPrefix, 'standing approval');
  await dropStandingApproval(store, approval, by);
  await store.shared.settled();
  return approval;
}
