/** The policy files that the user trusts: one file per digest in the state folder of the user. */

import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Terminal } from '../command.ts';
import { stateFolder } from '../store-option.ts';

/** A trusted policy file. */
export interface TrustRecord {
  readonly file: string;
  readonly by: string;
  /** The wall time of the decision. */
  readonly atMs: number;
}

function recordPath(digest: string, env: Terminal['env']): string {
  return join(stateFolder(env), 'trusted', `${digest}.json`);
}

/** Reads the trust in a digest. A record that somebody else could have written does not count. */
export function readTrust(digest: string, env: Terminal['env']): TrustRecord | undefined {
  const path = recordPath(digest, env);
  try {
    const { uid, mode } = statSync(path);
    const isOwn = process.getuid === undefined || uid === process.getuid();
    if (!isOwn || (mode & 0o022) !== 0) return undefined;
    const { file, by, atMs } = JSON.parse(readFileSync(path, 'utf8')) as Partial<TrustRecord>;
    return typeof atMs === 'number' ? { file: String(file), by: String(by), atMs } : undefined;
  } catch {
    return undefined;
  }
}

export function writeTrust(digest: string, record: TrustRecord, env: Terminal['env']): void {
  const path = recordPath(digest, env);
  mkdirSync(join(stateFolder(env), 'trusted'), { recursive: true, mode: 0o700 });
  const temporaryPath = `${path}.${process.pid}.new`;
  writeFileSync(temporaryPath, JSON.stringify(record), { mode: 0o600 });
  renameSync(temporaryPath, path);
}

/** Takes the trust back; returns false if there was none. */
export function deleteTrust(digest: string, env: Terminal['env']): boolean {
  const isTrusted = readTrust(digest, env) !== undefined;
  rmSync(recordPath(digest, env), { force: true });
  return isTrusted;
}
