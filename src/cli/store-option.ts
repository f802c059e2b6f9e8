/** The store a command works on: the one it was given, else the environment's, else this user's own file. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { SwitchgearError } from '../core/error.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { type ParsedArgs, type Terminal, usageError } from './command.ts';

/** Which store is meant, with a name that may be shown: it has no password in it. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly name: string; readonly path: string }
  | { readonly kind: 'redis'; readonly name: string; readonly url: string; readonly prefix: string | undefined };

/** How long a command waits for Redis: nobody's agent stands still meanwhile. */
const deadlineMs = 1_000;
const waitMs = 2_000;

export function findStoreAddress({ values }: ParsedArgs, { env, cwd }: Terminal): StoreAddress {
  const [optionName, text] = values.has('--store')
    ? ['--store', values.get('--store')!]
    : ['SWITCHGEAR_STORE', env.SWITCHGEAR_STORE || `sqlite:${join(stateFolder(env), 'state.db')}`];
  if (/^rediss?:/.test(text)) return parseRedisAddress(optionName, text);
  const [, path] = /^sqlite:(?:\/\/(?=\/|[^/]))?(.+)$/s.exec(text) ?? [];
  if (path === undefined || path.includes('\0')) throw addressError(optionName, text);
  // A shell leaves the sign of the home folder alone where it does not begin a word.
  const absolutePath = resolve(cwd, path.replace(/^~(?=\/)/, findHomeFolder(env)));
  return { kind: 'sqlite', name: `sqlite:${absolutePath}`, path: absolutePath };
}

/** `$XDG_STATE_HOME/switchgear`; a relative folder does not count, says the standard. */
export function stateFolder(env: Terminal['env']): string {
  const { XDG_STATE_HOME: state = '' } = env;
  return join(isAbsolute(state) ? state : join(findHomeFolder(env), '.local', 'state'), 'switchgear');
}

function findHomeFolder({ HOME }: Terminal['env']): string {
  return HOME || homedir();
}

function parseRedisAddress(optionName: string, text: string): StoreAddress {
  if (!/^rediss?:\/\/[^\s/?#]/.test(text) || !URL.canParse(text)) throw addressError(optionName, text);
  const url = new URL(text);
  const prefix = url.searchParams.get('prefix') ?? undefined;
  if (prefix !== undefined && !/^[^{}\s]{1,100}$/.test(prefix)) {
    throw usageError(
      `${optionName}: the prefix must be a word without braces, got ${JSON.stringify(prefix.slice(0, 200))}`,
    );
  }
  for (const parameter of url.searchParams.keys()) {
    if (parameter !== 'prefix')
      throw usageError(`${optionName}: ?${parameter} is not known; an address may end with ?prefix=NAME`);
  }
  if (!/^(\/\d*)?$/.test(url.pathname)) {
    throw usageError(
      `${optionName}: after the host comes the number of a database, got ${JSON.stringify(url.pathname)}`,
    );
  }
  url.search = '';
  const name = `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`;
  return { kind: 'redis', name: prefix === undefined ? name : `${name}?prefix=${prefix}`, url: url.href, prefix };
}

function addressError(optionName: string, text: string): SwitchgearError {
  const shown = JSON.stringify(text.replace(/\/\/[^@]*@/, '//…@').slice(0, 200));
  return usageError(`${optionName} must be sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT, got ${shown}`);
}

/** Whether there is something to open: a command that only looks makes no file. */
export function storeExists(address: StoreAddress): boolean {
  if (address.kind === 'redis') return true;
  try {
    return statSync(address.path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true; // Whoever opens it says what is wrong.
  }
}

/**
 * Opens the store for some work, and closes it whatever comes of it. Who is in a hurry does not have a whole file read
 * first (`verify: false`): what is wrong with it is told when it is met. A process that ends at once leaves the log of
 * the file as it is (`isBrief`).
 */
export async function withStore<T>(
  address: StoreAddress,
  work: (store: CrossProcessStore) => Promise<T>,
  { verify = true, isBrief = false }: { readonly verify?: boolean; readonly isBrief?: boolean } = {},
): Promise<T> {
  const store = await openStore(address, verify, isBrief).catch((error: unknown) => {
    throw explainOpenError(error, address);
  });
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

async function openStore(address: StoreAddress, verify: boolean, isBrief: boolean): Promise<CrossProcessStore> {
  if (address.kind === 'sqlite') {
    checkSqliteFile(address.path);
    const { sqliteStore } = await import('../stores/sqlite/index.ts');
    return sqliteStore({ path: address.path, waitMs, verify, isBrief });
  }
  const { redisStore } = await import('../stores/redis/index.ts');
  const { url, prefix, name } = address;
  const store = await redisStore({ url, deadlineMs, ...(prefix !== undefined && { prefix }) });
  const { state, reason } = store.shared.health;
  if (state === 'shared') return store;
  store.close();
  throw new SwitchgearError('store_unreachable', `the store ${name} cannot be used: ${reason}`);
}

/** The error in words that fit a command: which store it was, and what of it could not be made. */
function explainOpenError(error: unknown, { name }: StoreAddress): unknown {
  if (!(error instanceof SwitchgearError)) return error;
  const { code, message, cause } = error;
  const systemCode = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (['ENOENT', 'ENOTDIR', 'EEXIST'].includes(systemCode)) {
    return new SwitchgearError(code, `the store ${name} cannot be opened: its folder cannot be made`, { cause });
  }
  return new SwitchgearError(code, message.replace(/^the store cannot/, `the store ${name} cannot`), { cause });
}

/** A gear sets a damaged file aside; a command that was given the wrong name must not. */
function checkSqliteFile(path: string): void {
  const head = Buffer.alloc(16);
  let read = 0;
  try {
    const file = openSync(path, 'r');
    read = readSync(file, head);
    closeSync(file);
  } catch {
    return; // It is made, or the store says why it cannot be.
  }
  if (read > 0 && head.toString('latin1') !== 'SQLite format 3\0') {
    throw new SwitchgearError(
      'store_foreign',
      `${JSON.stringify(path)} is not a database: give the store a file of its own`,
    );
  }
}

/** What ends a command whose store did not take what it was told. */
export function storeWriteError(address: StoreAddress, reason: string): SwitchgearError {
  return new SwitchgearError('store_unreachable', `the store ${address.name} did not take it: ${reason}`);
}
