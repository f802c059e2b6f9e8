/** Finds the processes at the other end of a connection that does not leave a Linux system. */

import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
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

/** Whether an address is one of this machine: its processes may also connect to its address in a network. */
function isOfThisMachine(address: string): boolean {
  if (isLoopback(address)) return true;
  const plain = plainAddress(address);
  return Object.values(networkInterfaces()).some((all) => all?.some((each) => each.address === plain));
}

/** An address without the mark of IPv4 in IPv6, and without the name of its interface. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '').replace(/%.*$/, '');
}

/** Finds all processes that have the other end of a connection open. */
export function findPeer(connection: ConnectionEnds): Peer {
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = connection;
  if (!isOfThisMachine(remoteAddress)) return { kind: 'unknown', reason: `the request came from ${remoteAddress}` };
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
  const plain = plainAddress(address);
  if (!isIPv4(plain)) return [`${encodeIpv6(plain)}${suffix}`];
  const bytes = plain.split('.').map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'));
  const word = bytes.toReversed().join('');
  return [`${word}${suffix}`, `${'0'.repeat(16)}FFFF0000${word}${suffix}`];
}

/** Encodes an IPv6 address: each word of four bytes in the order of the machine. */
function encodeIpv6(address: string): string {
  const [before = [], after = []] = address.split('::').map((part) => part.split(':').filter((each) => each !== ''));
  const missing = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const text = [...before, ...missing, ...after].map((part) => part.toUpperCase().padStart(4, '0')).join('');
  return text.replaceAll(/(..)(..)(..)(..)/g, '$4$3$2$1');
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
