/** The tables of a store's file, and how a file of an earlier version becomes one of this. */

import type { DatabaseSync } from 'node:sqlite';

/** Says that the file is ours. */
export const applicationId = 0x53_57_47_52;

/** A cell that is written again within so many changes of the file stays where the index has it. */
const versionsPerBlock = 64;

/**
 * One entry per version; a file of version n has seen the first n of them.
 * Rows that decisions rest on carry a checksum: what a disk changes by itself must not look like a state.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
   CREATE TABLE cells (
     key TEXT PRIMARY KEY,
     version INTEGER NOT NULL,
     untilMs REAL,
     state TEXT,
     crc INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX cellsByVersion ON cells (version);
   CREATE INDEX cellsByEnd ON cells (untilMs) WHERE untilMs IS NOT NULL;
   CREATE TABLE sums (
     key TEXT PRIMARY KEY,
     total INTEGER NOT NULL,
     untilMs REAL,
     crc INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE INDEX sumsByEnd ON sums (untilMs) WHERE untilMs IS NOT NULL;
   CREATE TABLE marks (
     key TEXT NOT NULL,
     id TEXT NOT NULL,
     atMs REAL NOT NULL,
     untilMs REAL NOT NULL,
     PRIMARY KEY (key, id)
   ) WITHOUT ROWID;
   CREATE INDEX marksByTime ON marks (key, atMs);
   CREATE INDEX marksByEnd ON marks (untilMs);
   CREATE TABLE journal (
     seq INTEGER PRIMARY KEY,
     atMs REAL NOT NULL,
     wallMs REAL NOT NULL,
     entry TEXT NOT NULL,
     crc INTEGER NOT NULL
   );`,
  // Versions are found by their blocks: an index of every single one would be a second page in almost every commit.
  `ALTER TABLE cells ADD COLUMN block INTEGER NOT NULL DEFAULT 0;
   UPDATE cells SET block = version / ${versionsPerBlock};
   DROP INDEX cellsByVersion;
   CREATE INDEX cellsByBlock ON cells (block);`,
  // A row of the journal may hold many traces, which an older Switchgear cannot read.
  '',
];

/** The block in which a version lies. */
export function blockOf(version: number): number {
  return Math.floor(version / versionsPerBlock);
}

/**
 * Brings a file to the last version of the list. In one transaction: a crash leaves the version it had, and nobody sees
 * a version that is not signed.
 */
export function migrate(db: DatabaseSync, sign: () => void, list: readonly string[] = migrations): void {
  if (versionOf(db) >= list.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = versionOf(db); // Another process may have been faster, and a newer one further.
    for (const step of list.slice(version)) db.exec(step);
    if (version < list.length) {
      db.exec(`PRAGMA user_version = ${list.length}`);
      sign();
    }
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** What is wrong with a file of a version that is not known here. */
export function newerThan(version: number): string {
  const supported = `this Switchgear knows versions up to ${migrations.length}`;
  return `has version ${version}, and ${supported}: install the newer Switchgear here, too, or use another file`;
}

export function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}
