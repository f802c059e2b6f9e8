/**
 * Standing approvals: for one step of one chain file with its steps as written, what the step's ability resolves to,
 * and the exact filled rules that asked.
 */

import { SwitchgearError } from '../../../core/error.ts';
import { standingApprovalsMax } from '../../../core/limits.ts';
import { quoteValue } from '../../../core/quote.ts';
import { digestWithSecret } from '../../../guard/internal.ts';
import type { Store } from '../../../ports/store.ts';
import type { Chain } from '../../file/chain.ts';
import { applyChanges, readValue, readValues } from '../storage/values.ts';
import type { QuestionPlace } from './question-place.ts';
import type { StandingApproval } from './standing-approval.ts';

const prefix = 'standing/';

/** Finds the standing approval for these rules in this place of a chain with its steps as written. */
export function findStandingApproval(
  store: Store,
  chain: Chain,
  rules: readonly string[],
  place: QuestionPlace,
): Promise<StandingApproval | undefined> {
  return readValue<StandingApproval>(store, approvalKey(chain.id, approvalId(store, chain, rules, place)));
}

/** Adds a standing approval; false if the store rejects it. `redactedRules` are the rules without parameters. */
export async function addStandingApproval(
  store: Store,
  chain: Chain,
  rules: readonly string[],
  redactedRules: readonly string[],
  place: QuestionPlace,
  by: string,
): Promise<boolean> {
  const { clock } = store;
  const id = approvalId(store, chain, rules, place);
  const approval: StandingApproval = {
    id,
    chain: chain.id,
    step: place.step,
    ...(place.file !== undefined && { file: place.file }),
    rules: redactedRules,
    by,
    givenWallMs: clock.wallMs(),
  };
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

/** The id: a keyed digest of the place, the steps as written and the filled rules, from which none can be read. */
function approvalId(store: Store, { id, steps }: Chain, rules: readonly string[], place: QuestionPlace): string {
  const digest = digestWithSecret(store, [id, steps, rules, place]);
  if (digest === undefined) throw new SwitchgearError('invalid_chain', `the chain ${quoteValue(id)} is too large`);
  return digest.slice(0, 32);
}
