/** Finds the processes at the other end of a connection over the loopback interface of a Linux system. */

import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { processesMax } from '../core/limits.ts';

/** Open files of all processes that are looked at. */
const peerFilesMax = 500_000;

/** The two ends of a connection, as this process sees them. */
export interface ConnectionEnds {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** The other end of a connection. */
export type Peer =
  | { readonly kind: 'found'; readonly pids: readonly number[] }
  /** The other end has closed the connection. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Whether an address belongs to the loopback interface. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address);
}

/** Finds all processes that have the other end of a connection open. */
export function findPeer(connection: ConnectionEnds): Peer {
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = connection;
  if (!isLoopback(remoteAddress)) return { kind: 'unknown', reason: `the request came from ${remoteAddress}` };
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(readLines);
  if (tables.length === 0) return { kind: 'unknown', reason: 'this system does not show the process of a connection' };
  const locals = encodeEnd(remoteAddress, remotePort);
  const remotes = encodeEnd(localAddress, localPort);
  const row = tables.find(([, local = '', remote = '']) => locals.includes(local) && remotes.includes(remote));
  // A row without an inode belongs to a socket that no process has open.
  const inode = row?.[9] ?? '0';
  if (inode === '0') return { kind: 'gone' };
  const user = Number(row?.[7]);
  const pids = findHolders(`socket:[${inode}]`, user);
  if (pids.length > 0) return { kind: 'found', pids };
  return { kind: 'unknown', reason: `the process of the connection is hidden, or belongs to user ${user}` };
}

/** The rows of a table of connections, as words. */
function readLines(path: string): readonly (readonly string[])[] {
  try {
    const lines = readFileSync(path, 'latin1').split('\n').slice(1);
    return lines.map((line) => line.trim().split(/\s+/));
  } catch {
    return []; // Another system, or one without IPv6.
  }
}

/** The ways in which the kernel writes one end: an IPv4 address may be mapped into IPv6. */
function encodeEnd(address: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const plain = address.replace(/^::ffff:/, '');
  if (!isIPv4(plain)) return [`${'0'.repeat(24)}01000000${suffix}`]; // ::1, each word in the order of the machine.
  const bytes = plain.split('.').map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'));
  const word = bytes.toReversed().join('');
  return [`${word}${suffix}`, `${'0'.repeat(16)}FFFF0000${word}${suffix}`];
}

/** The processes of a user that have a socket open; those of other users can rarely be looked into. */
function findHolders(socket: string, user: number): readonly number[] {
  const holders: number[] = [];
  let left = peerFilesMax;
  const pids = listNames('/proc').filter((name) => /^\d+$/.test(name));
  for (const pid of pids.slice(0, processesMax)) {
    if (findOwner(`/proc/${pid}`) !== user) continue;
    for (const file of listNames(`/proc/${pid}/fd`)) {
      if (left-- <= 0) return holders;
      if (readTarget(`/proc/${pid}/fd/${file}`) !== socket) continue;
      holders.push(Number(pid));
      break;
    }
  }
  return holders;
}

function findOwner(folder: string): number | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false })?.uid;
  } catch {
    return undefined; // The process has ended.
  }
}

function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // The process has ended, or belongs to another user.
  }
}

function readTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
