/** The keys of a gateway: shown once, stored as hashes, and exchanged for the key of the provider. */

import { SwitchgearError } from '../../core/error.ts';
import { isMatch } from '../../core/glob.ts';
import { quoteValue } from '../../core/quote.ts';
import type { JointBudget } from '../../core/settings.ts';
import { refreshOnce } from '../../guard/internal.ts';
import { changeCell, hasHash, makeSecret, secretNamePattern } from '../../http/stored-secrets.ts';
import type { CrossProcessStore, Store } from '../../ports/store.ts';

/** What a key may do. */
export interface KeyLimits {
  /** Money in cents, in a rolling window or for the life of the key. */
  readonly budget?: { readonly cents: number; readonly windowSecs?: number };
  /** Globs of models; without any, every model. */
  readonly models?: readonly string[];
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
}

/** A key without its secret. */
export interface KeyRecord extends KeyLimits {
  readonly name: string;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly addedWallMs: number;
  /** The user who added the key. */
  readonly by: string;
}

type KeyTable = Readonly<Record<string, KeyRecord>>;

/** The text with which every key begins. */
export const keyPrefix = 'sk-switchgear-';

/** All keys are in one cell, so that a gateway always has the view of every one of them. */
const keysCell = 'gateway-keys';
const gatewayKeysMax = 100;

/** Adds a key to the store and returns its text, which cannot be read again. */
export async function addKey(store: CrossProcessStore, name: string, limits: KeyLimits, by: string): Promise<string> {
  if (!secretNamePattern.test(name))
    throw new SwitchgearError(
      'invalid_argument',
      `a key must be named by 1 to 40 letters, digits, dashes or underscores, got ${quoteValue(name)}`,
    );
  const { secret, hash } = makeSecret();
  const record: KeyRecord = { name, hash, addedWallMs: store.clock.wallMs(), by, ...limits };
  let isFull = false;
  const isAdded = await changeCell<KeyTable>(store, keysCell, (before) => {
    const table = before ?? {};
    isFull = Object.keys(table).length >= gatewayKeysMax;
    return isFull || Object.hasOwn(table, name) ? undefined : { ...table, [name]: record };
  });
  if (!isAdded)
    throw isFull
      ? new SwitchgearError('tokens_full', `a store has at most ${gatewayKeysMax} keys: remove one first`)
      : new SwitchgearError('token_exists', `the key ${quoteValue(name)} exists: remove it first`);
  await store.shared.settled();
  return `${keyPrefix}${name}.${secret}`;
}

/** The keys of a store, by name. */
export async function listGatewayKeys(store: CrossProcessStore): Promise<readonly KeyRecord[]> {
  const table = await readTable(store);
  return Object.values(table).toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Removes a key; the next request with it is refused. */
export async function removeKey(store: CrossProcessStore, name: string): Promise<void> {
  const isRemoved = await changeCell<KeyTable>(store, keysCell, (before) => {
    if (before === null || !Object.hasOwn(before, name)) return undefined;
    const { [name]: _, ...rest } = before;
    return rest;
  });
  if (!isRemoved) throw new SwitchgearError('not_found', `there is no key ${quoteValue(name)} in this store`);
  await store.shared.settled();
}

async function readTable({ shared }: CrossProcessStore): Promise<KeyTable> {
  const rows = await shared.read(keysCell, 2);
  return (rows.find(({ key }) => key === keysCell)?.state as KeyTable | null | undefined) ?? {};
}

/** The keys as a gateway sees them, always current. */
export interface KeyBook {
  /** Whether the store has keys. */
  hasAny(): boolean;
  /** Finds the record of a key by its text, whose secret is compared in constant time. */
  find(text: string): KeyRecord | undefined;
}

/** Opens the keys of a store; rejects if the store cannot be read, since then anybody could pass. */
export async function openKeyBook(store: Store): Promise<KeyBook> {
  const { shared } = store;
  if (shared === undefined) return { hasAny: () => false, find: () => undefined };
  const first = await readTable({ ...store, shared });
  const cell = store.cell<KeyTable | null>(keysCell, () => null);
  const current = (): KeyTable => {
    refreshOnce(store);
    return cell.version === 0 ? first : (cell.state ?? {});
  };
  return {
    hasAny: () => Object.keys(current()).length > 0,
    find(text) {
      const rest = text.slice(keyPrefix.length);
      const at = rest.indexOf('.');
      const name = rest.slice(0, Math.max(at, 0));
      const table = current();
      const record = Object.hasOwn(table, name) ? table[name] : undefined;
      return hasHash(rest.slice(at + 1), record?.hash) ? record : undefined;
    },
  };
}

/** Whether a key may call a model. */
export function allowsModel({ models }: KeyLimits, model: string): boolean {
  return models === undefined || models.some((glob) => isMatch(glob, model));
}

/** The budgets of a key of its own. */
export function listBudgets({ budget }: KeyLimits): readonly JointBudget[] {
  if (budget === undefined) return [];
  const { cents, windowSecs } = budget;
  return [{ scope: 'key', unit: 'spend_cents', limit: cents, ...(windowSecs !== undefined && { windowSecs }) }];
}
