/**
 * Keeps the input of an open question in a shared store, encrypted with a key from the store's secret, so that another
 * process can show it. The input is removed with the answer, and the store removes it when the question expires.
 */

import { cardsMax, removedInputKeepMs } from '../../core/limits.ts';
import type { Cell, Change, Store } from '../../ports/store.ts';

/** The cell of a sealed input; null once the input was removed. */
interface InputCell {
  readonly value: string | null;
  /** When the question expires; from then on the input is not read, even if the store has not removed it yet. */
  readonly untilMs?: number;
}

const inputPrefix = 'question-input/';

/** The key of the cell with the input of a card. */
export function inputKey(cardId: string): string {
  return inputPrefix + cardId;
}

/** Stores the input of a question until its card expires. A store of one process keeps nothing. */
export function storeInput(store: Store, cardId: string, input: string, keepMs: number): void {
  const changes = makeInputChanges(store, cardId, input, keepMs);
  if (changes.length > 0) store.shared?.commitNow({ changes, queueIfUnavailable: true });
}

/** The change that stores an input, for a transaction; none for a store that keeps none. */
export function makeInputChanges(store: Store, cardId: string, input: string, keepMs: number): readonly Change[] {
  const { shared } = store;
  if (shared === undefined || shared.secret === '') return [];
  const value = sealText(shared.secret, cardId, input);
  const untilMs = store.clock.nowMs() + keepMs;
  return [{ cell: openCell(store, cardId, keepMs), update: () => ({ state: { value, untilMs } }) }];
}

/** Removes the input of a question that is answered or expired. */
export function removeInput(store: Store, cardId: string): void {
  const { shared } = store;
  if (shared === undefined) return;
  const cell = openCell(store, cardId, removedInputKeepMs);
  // Without a look at the local view, which may not have what another process stored.
  shared.commitNow({ changes: [{ cell, update: () => ({ state: { value: null } }) }], queueIfUnavailable: true });
}

/** Reads the input of an open question; undefined if the store does not have it. */
export async function readInput(store: Store, cardId: string): Promise<string | undefined> {
  const { shared } = store;
  if (shared === undefined) return undefined;
  const key = inputKey(cardId);
  const found = (await shared.read(key, 1)).find((each) => each.key === key);
  const { value, untilMs = 0 } = (found?.state as InputCell | null | undefined) ?? {};
  if (typeof value !== 'string' || store.clock.nowMs() >= untilMs) return undefined;
  return unsealText(shared.secret, cardId, value);
}

/** The id under which the request beside the answer to a card is sealed. */
export function requestId(cardId: string): string {
  return `request/${cardId}`;
}

/** Removes the inputs of expired questions: the processes that asked may be gone, or too brief to clean a file up. */
export async function removeExpiredInputs(store: Store): Promise<void> {
  const atMs = store.clock.nowMs();
  for (const { key, state } of (await store.shared?.read(inputPrefix, cardsMax)) ?? []) {
    const { value = null, untilMs = 0 } = (state as InputCell | null) ?? {};
    if (value !== null && atMs >= untilMs) removeInput(store, key.slice(inputPrefix.length));
  }
}

function openCell(store: Store, cardId: string, keepMs: number): Cell {
  return store.cell<InputCell>(inputKey(cardId), () => ({ value: null }), { keepMs: Math.max(1, keepMs) });
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

function deriveKey(secret: string): Buffer {
  const { hkdfSync } = process.getBuiltinModule('node:crypto');
  return Buffer.from(hkdfSync('sha256', secret, '', 'switchgear question input', 32));
}

/** Encrypts a text; the id belongs to it, so that it cannot be moved to another card or run. */
export function sealText(secret: string, id: string, text: string): string {
  const { createCipheriv, randomBytes } = process.getBuiltinModule('node:crypto');
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, deriveKey(secret), nonce).setAAD(Buffer.from(id));
  const content = [cipher.update(text, 'utf8'), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...content]).toString('base64');
}

/** Decrypts a text; undefined if the text was changed or belongs to another id or store. */
export function unsealText(secret: string, id: string, sealed: string): string | undefined {
  const { createDecipheriv } = process.getBuiltinModule('node:crypto');
  const bytes = Buffer.from(sealed, 'base64');
  const tag = bytes.subarray(nonceBytes, nonceBytes + tagBytes);
  try {
    const decipher = createDecipheriv(algorithm, deriveKey(secret), bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(id)).setAuthTag(tag);
    const content = decipher.update(bytes.subarray(nonceBytes + tagBytes));
    return Buffer.concat([content, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
