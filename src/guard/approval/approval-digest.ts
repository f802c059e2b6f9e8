/** The keyed digest of what a person approves: the tool, its whole input, the task, and the rules that ask. */

import type { Stop } from '../../core/verdict.ts';
import type { Store } from '../../ports/store.ts';
import { digestValue } from './canonical-digest.ts';

/** The subject of an approval. */
export interface ApprovalSubject {
  readonly tool: string;
  readonly task: string | undefined;
  readonly args: readonly unknown[];
  /** The stop that asks. */
  readonly stop: Pick<Stop, 'control' | 'code' | 'rules'>;
  /** What else the approval is bound to, as plain data: the file of a chain, the resolved server of a step. */
  readonly place?: unknown;
}

/** The digest of a subject; undefined if its arguments are too large to be approved. */
export function digestApproval(store: Store, { tool, task, args, stop, place }: ApprovalSubject): string | undefined {
  const asking = [stop.control, stop.code, [...(stop.rules ?? [])].sort()];
  return digestWithSecret(store, [tool, task, args, asking, place]);
}

/** The digest of plain data under the store's secret; undefined if the data are too large. */
export function digestWithSecret(store: Store, value: unknown): string | undefined {
  return digestValue(secretOf(store), value);
}

const ownSecrets = new WeakMap<Store, string>();

/** The secret of the store, or one of this process if the store has none (yet). */
function secretOf(store: Store): string {
  const shared = store.shared?.secret;
  if (shared !== undefined && shared !== '') return shared;
  const known = ownSecrets.get(store);
  if (known !== undefined) return known;
  const created = process.getBuiltinModule('node:crypto').randomBytes(32).toString('base64url');
  ownSecrets.set(store, created);
  return created;
}
