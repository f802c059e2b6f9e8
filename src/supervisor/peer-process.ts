/** Finds the processes at the other end of a connection that does not leave a Linux system. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { processesMax } from '../core/limits.ts';
import { systemClock } from '../platform/system-clock.ts';

/** Open files of all processes that are looked at. */
const peerFilesMax = 500_000;
/** Milliseconds for which processes are looked at before other work has its turn. */
const sliceMaxMs = 2;
/** How often all processes are looked at before one counts as hidden. */
const peerRounds = 3;

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
  /** It cannot be known from here: another machine, another user, or a system that does not show it. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly candidates?: readonly number[] }
  /** It should have been found, but was not, so that it may be any process of this machine. */
  | { readonly kind: 'hidden'; readonly reason: string };

/** How much of a system is looked at for the process of a connection. */
export interface PeerBounds {
  readonly processes: number;
  readonly files: number;
}

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

/** The socket at the other end of a connection, and its user. */
export interface PeerSocket {
  readonly kind: 'socket';
  readonly socket: string;
  readonly user: number;
}

/** Finds all processes that have the other end of a connection open. Other work goes on in the meantime. */
export async function findPeer(
  connection: ConnectionEnds,
  bounds: PeerBounds = { processes: processesMax, files: peerFilesMax },
): Promise<Peer> {
  return findPeerOf(await findPeerSocket(connection), bounds);
}

/** Finds all processes that have a socket open. */
export async function findPeerOf(
  found: FoundSocket,
  bounds: PeerBounds = { processes: processesMax, files: peerFilesMax },
): Promise<Peer> {
  return found.kind === 'socket' ? findOpener(found, bounds) : found;
}

/** Whether a process has a socket open. */
export function hasSocketOpen({ socket }: PeerSocket, pid: number): boolean {
  return hasOpen(pid, listNames(`/proc/${pid}/fd`) ?? [], socket);
}

/** The socket at the other end of a connection, or why there is none. */
export type FoundSocket = PeerSocket | Exclude<Peer, { readonly kind: 'found' | 'hidden' }>;

/** Finds the socket at the other end of a connection. */
export async function findPeerSocket(connection: ConnectionEnds): Promise<FoundSocket> {
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = connection;
  if (!isOfThisMachine(remoteAddress)) return { kind: 'unknown', reason: `the request came from ${remoteAddress}` };
  const locals = encodeEnd(remoteAddress, remotePort);
  const remotes = encodeEnd(localAddress, localPort);
  let isShown = false;
  for (const path of connectionTables) {
    const table = await readTable(path);
    isShown ||= table !== '';
    const row = findRow(table, locals, remotes);
    if (row === undefined) continue;
    // A row without an inode belongs to a socket that no process has open.
    const inode = row[9] ?? '0';
    return inode === '0' ? { kind: 'gone' } : { kind: 'socket', socket: `socket:[${inode}]`, user: Number(row[7]) };
  }
  if (isShown) return { kind: 'gone' };
  return { kind: 'unknown', reason: 'this system does not show the process of a connection' };
}

/** Finds the processes of a user that have a socket open; those of other users can rarely be looked into. */
async function findOpener({ socket, user }: PeerSocket, bounds: PeerBounds): Promise<Peer> {
  const isOwn = user === process.geteuid?.();
  // Processes that hand the socket to each other may be missed once.
  for (let round = 0; round < peerRounds; round++) {
    const { holders, closed, reason } = await findHolders(socket, user, bounds);
    // A process that was not looked at may be a further holder.
    if (reason !== undefined) return { kind: 'hidden', reason };
    if (holders.length > 0) return { kind: 'found', pids: holders };
    if (!isOwn) return { kind: 'unknown', reason: `the connection belongs to user ${user}`, candidates: closed };
  }
  // A process can refuse to show its files, and can give a socket away without closing it.
  return { kind: 'hidden', reason: 'no process that shows its files has the connection open' };
}

/** The connections of IPv4 and of IPv6. */
const connectionTables = ['/proc/net/tcp', '/proc/net/tcp6'];

/** Reads of tables that have not begun. */
const nextReads = new Map<string, Promise<string>>();
const lastReads = new Map<string, Promise<string>>();

/**
 * Reads a table of connections, one read after the other: the kernel takes milliseconds for it. All connections that
 * are looked for before a read begins share it. Without the table, as on another system, its text is empty.
 */
function readTable(path: string): Promise<string> {
  const next = nextReads.get(path);
  if (next !== undefined) return next;
  const before = lastReads.get(path) ?? Promise.resolve('');
  const read = before.then(() => {
    nextReads.delete(path);
    return readFile(path, 'latin1').catch(() => '');
  });
  nextReads.set(path, read);
  lastReads.set(path, read);
  return read;
}

/** The row of a connection in a table, as words. */
function findRow(table: string, locals: readonly string[], remotes: readonly string[]): readonly string[] | undefined {
  for (const local of locals) {
    for (const remote of remotes) {
      const at = table.indexOf(` ${local} ${remote} `);
      if (at === -1) continue;
      const end = table.indexOf('\n', at);
      const row = table.slice(table.lastIndexOf('\n', at) + 1, end === -1 ? table.length : end);
      return row.trim().split(/\s+/);
    }
  }
  return undefined;
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

interface Holders {
  readonly holders: readonly number[];
  /** Processes of the user that do not show their files; each of them may have the socket open. */
  readonly closed: readonly number[];
  /** Why not all processes were looked at. */
  readonly reason?: string;
}

/** Looks for a socket among the open files of all processes of a user, a slice of time after the other. */
async function findHolders(socket: string, user: number, bounds: PeerBounds): Promise<Holders> {
  const holders: number[] = [];
  const closed: number[] = [];
  const pids = listNames('/proc')?.filter((name) => /^\d+$/.test(name)) ?? [];
  if (pids.length > bounds.processes)
    return { holders, closed, reason: `the machine has more than ${bounds.processes} processes` };
  let left = bounds.files;
  let [most, mostFiles] = ['', 0];
  let sliceMs = systemClock.nowMs();
  for (const pid of pids) {
    if (systemClock.nowMs() - sliceMs > sliceMaxMs) {
      await nextTurn();
      sliceMs = systemClock.nowMs();
    }
    if (findUser(pid) !== user) continue;
    const files = listNames(`/proc/${pid}/fd`);
    if (files === undefined) {
      closed.push(Number(pid));
      continue;
    }
    if (files.length > mostFiles) [most, mostFiles] = [pid, files.length];
    left -= files.length;
    if (left < 0) {
      const worst = `process ${most} has ${mostFiles}`;
      return { holders, closed, reason: `user ${user} has more than ${bounds.files} files open, of which ${worst}` };
    }
    if (hasOpen(pid, files, socket)) holders.push(Number(pid));
  }
  return { holders, closed };
}

function hasOpen(pid: number | string, files: readonly string[], socket: string): boolean {
  return files.some((file) => readTarget(`/proc/${pid}/fd/${file}`) === socket);
}

/** The effective user of a process. The owner of its folder is another one if the process does not show its files. */
function findUser(pid: string): number | undefined {
  try {
    const [, user] = /^Uid:\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return user === undefined ? undefined : Number(user);
  } catch {
    return undefined; // The process has ended.
  }
}

/** The names in a folder of processes: none if the process has ended, undefined if the system does not show them. */
function listNames(folder: string): readonly string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? undefined : [];
  }
}

function readTarget(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}
