/**
 * Tokens and sessions of a server. The store has only hashes of them, so that all servers on the store agree and a
 * reader of the store cannot use them.
 */

import { randomBytes } from 'node:crypto';
import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { quoteValue } from '../../core/quote.ts';
import { changeCell, hasHash, hashText, makeSecret, secretNamePattern } from '../../http/stored-secrets.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { serverTokensMax, sessionKeepMs, tokenSessionsMax } from './limits.ts';

/** A viewer only reads; an operator also decides. */
export type Role = 'operator' | 'viewer';

/** The roles of tokens. */
export const roles: readonly Role[] = ['operator', 'viewer'];

/** A token without its secret. */
export interface TokenRecord {
  readonly name: string;
  readonly role: Role;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly addedWallMs: number;
  /** The user who added the token. */
  readonly by: string;
}

interface SessionRecord {
  readonly token: string;
  /** The hash of the token: a new token of the same name does not revive the session. */
  readonly hash: string;
  /** The hash of the key of its page. */
  readonly pageHash: string;
  readonly untilMs: number;
}

/** The name of the token that a server makes at its start and keeps in its memory. */
export const startTokenName = 'start';

const tokenPrefix = 'server-token/';
const sessionPrefix = 'server-session/';
/** The cells that list the keys of the sessions of a token, the oldest first. */
const sessionListPrefix = 'server-sessions/';

/** Makes a token that no store has. */
export function makeToken(name: string, role: Role, by: string, wallMs: number) {
  const { secret, hash } = makeSecret();
  const record: TokenRecord = { name, role, hash, addedWallMs: wallMs, by };
  return { token: `${name}.${secret}`, record };
}

/** Adds a token to the store and returns its text, which cannot be read again; a card reports an operator's token. */
export async function addToken(store: CrossProcessStore, name: string, role: Role, by: string): Promise<string> {
  if (!secretNamePattern.test(name) || name === startTokenName)
    throw new SwitchgearError(
      'invalid_argument',
      `a token must be named by 1 to 40 letters, digits, dashes or underscores, and not start, got ${quoteValue(name)}`,
    );
  if ((await listTokens(store)).length >= serverTokensMax)
    throw new SwitchgearError('tokens_full', `a store has at most ${serverTokensMax} tokens: revoke one first`);
  const { token, record } = makeToken(name, role, by, store.clock.wallMs());
  const isAdded = await changeCell<TokenRecord>(store, tokenKey(name), (before) =>
    before === null ? record : undefined,
  );
  if (!isAdded) throw new SwitchgearError('token_exists', `the token ${quoteValue(name)} exists: revoke it first`);
  if (role === 'operator') reportToken(store, record);
  await store.shared.settled();
  return token;
}

function reportToken(store: CrossProcessStore, { name, by, addedWallMs }: TokenRecord): void {
  const card: Card = {
    ...{ id: `card-token-${name}-${addedWallMs}`, kind: 'notice', task: '', code: 'notice', counters: {} },
    evidence: [
      `${by} added the token ${name}: its holder can answer questions and give orders through switchgear serve`,
      `Revoke it with: switchgear serve token revoke ${name}`,
    ],
    actions: ['dismiss'],
    state: 'open',
  };
  store.putCard(card);
  store.append({ type: 'card-changed', card }, {}, store.clock.nowMs());
}

/** The tokens of a store, by name. */
export async function listTokens({ shared }: CrossProcessStore): Promise<readonly TokenRecord[]> {
  const cells = await shared.read(tokenPrefix, serverTokensMax * 2);
  const records = cells.flatMap(({ state }) => (state === null ? [] : [state as TokenRecord]));
  return records.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** Revokes a token; its sessions end with it. */
export async function revokeToken(store: CrossProcessStore, name: string): Promise<void> {
  const isRevoked =
    secretNamePattern.test(name) &&
    (await changeCell<TokenRecord>(store, tokenKey(name), (before) => (before === null ? undefined : null)));
  if (!isRevoked) throw new SwitchgearError('not_found', `there is no token ${quoteValue(name)} in this store`);
  store.drop(tokenKey(name));
  await store.shared.settled();
}

/** Finds the record of a token by its text, which is compared in constant time. */
export async function findToken(
  store: CrossProcessStore,
  own: readonly TokenRecord[],
  text: string,
): Promise<TokenRecord | undefined> {
  const at = text.indexOf('.');
  const [name, secret] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  const record = await readRecord(store, own, name);
  return hasHash(secret, record?.hash) ? record : undefined;
}

async function readRecord(
  store: CrossProcessStore,
  own: readonly TokenRecord[],
  name: string,
): Promise<TokenRecord | undefined> {
  const found = own.find((each) => each.name === name);
  if (found !== undefined) return found;
  return secretNamePattern.test(name) ? readCell<TokenRecord>(store, tokenKey(name)) : undefined;
}

/** The two secrets of a session. */
export interface OpenedSession {
  /** For the cookie, which scripts cannot read, but browsers send to every port of this machine. */
  readonly id: string;
  /** For the page, which other ports cannot read. */
  readonly pageKey: string;
}

/** Opens a session of a token. A token has at most 32 sessions, and the oldest one ends. */
export async function openSession(store: CrossProcessStore, { name, hash }: TokenRecord): Promise<OpenedSession> {
  const id = randomBytes(32).toString('base64url');
  const { secret: pageKey, hash: pageHash } = makeSecret();
  const session: SessionRecord = { token: name, hash, pageHash, untilMs: store.clock.nowMs() + sessionKeepMs };
  await changeCell<SessionRecord>(store, sessionKey(id), () => session, sessionKeepMs);
  let ended: readonly string[] = [];
  const add = (before: readonly string[] | null) => {
    const keys = [...(before ?? []), sessionKey(id)];
    ended = keys.slice(0, -tokenSessionsMax);
    return keys.slice(-tokenSessionsMax);
  };
  await changeCell<readonly string[]>(store, sessionListPrefix + hash, add, sessionKeepMs);
  for (const key of ended) await endSession(store, key);
  return { id, pageKey };
}

/** Finds the token of a session; undefined if the session is over, its token is revoked or the key is not its own. */
export async function findSession(
  store: CrossProcessStore,
  own: readonly TokenRecord[],
  { id, pageKey }: OpenedSession,
): Promise<TokenRecord | undefined> {
  const session = await readCell<SessionRecord>(store, sessionKey(id));
  if (session === undefined || store.clock.nowMs() >= session.untilMs) return undefined;
  if (!hasHash(pageKey, session.pageHash)) return undefined;
  const record = await readRecord(store, own, session.token);
  return record?.hash === session.hash ? record : undefined;
}

/** Ends a session. */
export async function closeSession(store: CrossProcessStore, id: string): Promise<void> {
  const record = await readCell<SessionRecord>(store, sessionKey(id));
  await endSession(store, sessionKey(id));
  const remove = (before: readonly string[] | null) => (before ?? []).filter((key) => key !== sessionKey(id));
  if (record !== undefined)
    await changeCell<readonly string[]>(store, sessionListPrefix + record.hash, remove, sessionKeepMs);
}

async function endSession(store: CrossProcessStore, key: string): Promise<void> {
  await changeCell<SessionRecord>(store, key, (before) => (before === null ? undefined : null));
  store.drop(key);
}

/** The last character is in no name: no key begins with another one. */
function tokenKey(name: string): string {
  return `${tokenPrefix}${name}.`;
}

function sessionKey(id: string): string {
  return sessionPrefix + hashText(id);
}

async function readCell<T>({ shared }: CrossProcessStore, key: string): Promise<T | undefined> {
  const [row] = await shared.read(key, 1);
  return row?.key === key ? ((row.state as T | null) ?? undefined) : undefined;
}
