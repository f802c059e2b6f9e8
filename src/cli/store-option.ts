/** Finds and opens the store of a command: `--store`, else `SWITCHGEAR_STORE`, else a file of the user. */

import { closeSync, readFileSync, readSync, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { SwitchgearError } from '../core/error.ts';
import { openRegularFile } from '../platform/regular-file.ts';
import { findHomeFolder, stateFolder } from '../platform/state-folder.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { type ParsedArgs, type Terminal, usageError } from './command.ts';

/** The address of a store. Its name contains no password. */
export type StoreAddress =
  | { readonly kind: 'sqlite'; readonly name: string; readonly path: string }
  | {
      readonly kind: 'redis';
      readonly name: string;
      readonly url: string;
      readonly prefix: string | undefined;
      /** The file that contains the password, if the address names one. */
      readonly passwordFile: string | undefined;
    };

/** The longest wait of a command for Redis. */
const deadlineMs = 1_000;
const waitMs = 2_000;

export function findStoreAddress({ values }: ParsedArgs, { env, cwd }: Terminal): StoreAddress {
  const [optionName, text] = values.has('--store')
    ? ['--store', values.get('--store')!]
    : ['SWITCHGEAR_STORE', env.SWITCHGEAR_STORE || `sqlite:${join(stateFolder(env), 'state.db')}`];
  if (/^rediss?:/.test(text)) return parseRedisAddress(optionName, text);
  const [, path] = /^sqlite:(?:\/\/(?=\/|[^/]))?(.+)$/s.exec(text) ?? [];
  if (path === undefined || path.includes('\0')) throw addressError(optionName, text);
  // A shell does not expand `~` inside a word.
  const absolutePath = resolve(cwd, path.replace(/^~(?=\/)/, findHomeFolder(env)));
  return { kind: 'sqlite', name: `sqlite:${absolutePath}`, path: absolutePath };
}

/** Parses a Redis address. No error quotes a part of the address that may be a misplaced password. */
function parseRedisAddress(optionName: string, text: string): StoreAddress {
  if (!/^rediss?:\/\/[^\s/?#]/.test(text) || !URL.canParse(text)) throw addressError(optionName, text);
  const url = new URL(text);
  const prefix = url.searchParams.get('prefix') ?? undefined;
  if (prefix !== undefined && !/^[^{}\s]{1,100}$/.test(prefix))
    throw usageError(`${optionName}: prefix must be 1 to 100 characters without braces or spaces`);
  for (const parameter of url.searchParams.keys()) {
    if (parameter !== 'prefix' && parameter !== 'password_file')
      throw usageError(`${optionName}: unknown parameter; expected ?prefix=NAME or ?password_file=PATH`);
  }
  const passwordFile = url.searchParams.get('password_file') ?? undefined;
  if (passwordFile !== undefined && (!isAbsolute(passwordFile) || passwordFile.includes('\0') || url.password !== ''))
    throw usageError(`${optionName}: password_file must be an absolute path, and replaces a password in the address`);
  if (!/^(\/\d*)?$/.test(url.pathname))
    throw usageError(`${optionName}: expected the number of a database after the host, as in redis://HOST:PORT/0`);
  url.search = '';
  url.hash = '';
  const name = `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}`;
  const fullName = prefix === undefined ? name : `${name}?prefix=${prefix}`;
  return { kind: 'redis', name: fullName, url: url.href, prefix, passwordFile };
}

function addressError(optionName: string, text: string): SwitchgearError {
  const shown = JSON.stringify(maskAddress(text).slice(0, 200));
  return usageError(`${optionName} must be sqlite:PATH, redis://HOST:PORT or rediss://HOST:PORT, got ${shown}`);
}

/** An invalid address as an error shows it: only the scheme, if the rest may contain a password. */
function maskAddress(text: string): string {
  const [, scheme = ''] = /^([\w+.-]*:\/*)/.exec(text) ?? [];
  if (text.includes('@')) return `${scheme}…@`;
  return /^redis/i.test(text) || scheme.includes('/') ? `${scheme}…` : text;
}

/** The password of a Redis address; undefined if it has none or names a file. */
export function passwordOf(address: StoreAddress): string | undefined {
  const password = address.kind === 'redis' ? new URL(address.url).password : '';
  return password === '' ? undefined : decodeURIComponent(password);
}

/** The text of an address for a child process: without a password, with the file that contains it instead. */
export function formatAddress(address: StoreAddress, passwordFile?: string): string {
  if (address.kind === 'sqlite') return address.name;
  const url = new URL(address.url);
  url.password = '';
  const file = passwordFile ?? address.passwordFile;
  if (address.prefix !== undefined) url.searchParams.set('prefix', address.prefix);
  if (file !== undefined) url.searchParams.set('password_file', file);
  return url.href;
}

/** The URL of a Redis address with the password from its file. */
function readPasswordFile({ url, name, passwordFile }: Extract<StoreAddress, { readonly kind: 'redis' }>): string {
  if (passwordFile === undefined) return url;
  const complete = new URL(url);
  try {
    complete.password = encodeURIComponent(readFileSync(passwordFile, 'utf8').trimEnd());
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'does not exist' : 'cannot be read';
    const message = `the store ${name} cannot be used: its password file ${JSON.stringify(passwordFile)} ${why}`;
    throw new SwitchgearError('store_unreachable', message);
  }
  return complete.href;
}

/** Whether the store exists: a command that only reads creates no file. */
export function storeExists(address: StoreAddress): boolean {
  if (address.kind === 'redis') return true;
  try {
    return statSync(address.path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true; // Opening the store reports the error.
  }
}

/** The options of `withStore`. */
export interface OpenOptions {
  readonly verify?: boolean;
  readonly skipCheckpoint?: boolean;
  /** Called with a line for people if opening found that the store lost data. */
  readonly onLoss?: (line: string) => void;
}

/**
 * Opens a store, runs `work` and closes the store. `verify: false` skips the integrity check of the whole file.
 * `skipCheckpoint` leaves the write-ahead log in place on close, for a process that exits at once.
 */
export async function withStore<T>(
  address: StoreAddress,
  work: (store: CrossProcessStore) => Promise<T>,
  { verify = true, skipCheckpoint = false, onLoss }: OpenOptions = {},
): Promise<T> {
  const store = await openStore(address, verify, skipCheckpoint).catch((error: unknown) => {
    throw explainOpenError(error, address);
  });
  const { state, reason } = store.shared.health;
  if (state === 'degraded') onLoss?.(`switchgear: ${reason}`);
  try {
    return await work(store);
  } catch (error) {
    throw nameStore(error, address);
  } finally {
    store.close();
  }
}

async function openStore(address: StoreAddress, verify: boolean, skipCheckpoint: boolean): Promise<CrossProcessStore> {
  if (address.kind === 'sqlite') {
    checkSqliteFile(address.path);
    const { sqliteStore } = await import('../stores/sqlite/index.ts');
    return sqliteStore({ path: address.path, waitMs, verify, skipCheckpoint });
  }
  const { redisStore } = await import('../stores/redis/index.ts');
  const { prefix, name } = address;
  const store = await redisStore({
    url: readPasswordFile(address),
    deadlineMs,
    ...(prefix !== undefined && { prefix }),
  });
  const { state, reason } = store.shared.health;
  if (state === 'shared') return store;
  store.close();
  throw new SwitchgearError('store_unreachable', `the store ${name} cannot be used: ${reason}`);
}

/** Names the store in an error of opening it, and explains a missing folder. */
function explainOpenError(error: unknown, address: StoreAddress): unknown {
  if (!(error instanceof SwitchgearError)) return error;
  const { code, cause } = error;
  const systemCode = (cause as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (['ENOENT', 'ENOTDIR', 'EEXIST'].includes(systemCode)) {
    return new SwitchgearError(code, `the store ${address.name} cannot be opened: its folder cannot be created`, {
      cause,
    });
  }
  return nameStore(error, address);
}

/** Adds the name of the store to an error that speaks of "the store". */
function nameStore(error: unknown, { name }: StoreAddress): unknown {
  if (!(error instanceof SwitchgearError) || !/^the store (cannot|did not)/.test(error.message)) return error;
  const { code, message, cause } = error;
  return new SwitchgearError(code, message.replace(/^the store/, `the store ${name}`), { cause });
}

/** Throws if a file is not a SQLite database: a gear replaces a damaged file, a command must not. */
function checkSqliteFile(path: string): void {
  const head = Buffer.alloc(16);
  let read = 0;
  const opened = openRegularFile(path);
  if (opened === undefined) return; // Opening the store creates the file, or reports the error.
  try {
    read = readSync(opened.file, head);
  } catch {
    return; // The same.
  } finally {
    closeSync(opened.file);
  }
  if (read > 0 && head.toString('latin1') !== 'SQLite format 3\0') {
    throw new SwitchgearError(
      'store_foreign',
      `${JSON.stringify(path)} is not a SQLite database: use another file for the store`,
    );
  }
}
