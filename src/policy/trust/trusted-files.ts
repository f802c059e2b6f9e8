/** The policy files that the user trusts: one file per digest in a state folder. */

import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../platform/regular-file.ts';

/** A trusted policy file. */
export interface TrustRecord {
  readonly file: string;
  readonly by: string;
  /** The wall time of the decision. */
  readonly atMs: number;
}

function recordPath(digest: string, folder: string): string {
  return join(folder, 'trusted', `${digest}.json`);
}

/** Reads the trust in a digest. A record that somebody else could have written does not count. */
export function readTrust(digest: string, folder: string): TrustRecord | undefined {
  const path = recordPath(digest, folder);
  try {
    const { uid, mode } = statSync(path);
    const isOwn = process.getuid === undefined || uid === process.getuid();
    if (!isOwn || (mode & 0o022) !== 0) return undefined;
    const { file, by, atMs } = JSON.parse(String(readRegularFile(path, recordBytesMax))) as Partial<TrustRecord>;
    return typeof atMs === 'number' ? { file: String(file), by: String(by), atMs } : undefined;
  } catch {
    return undefined;
  }
}

const recordBytesMax = 65_536;

export function writeTrust(digest: string, record: TrustRecord, folder: string): void {
  const path = recordPath(digest, folder);
  mkdirSync(join(folder, 'trusted'), { recursive: true, mode: 0o700 });
  const temporaryPath = `${path}.${process.pid}.new`;
  writeFileSync(temporaryPath, JSON.stringify(record), { mode: 0o600 });
  renameSync(temporaryPath, path);
}

/** Takes the trust back; returns false if there was none. */
export function deleteTrust(digest: string, folder: string): boolean {
  const isTrusted = readTrust(digest, folder) !== undefined;
  rmSync(recordPath(digest, folder), { force: true });
  return isTrusted;
}
