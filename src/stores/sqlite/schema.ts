/** The tables of a store's file, and the migrations from earlier versions. */

import type { DatabaseSync } from 'node:sqlite';

/** The `application_id` of store files: the letters SWGR. */
export const applicationId = 0x53_57_47_52;

/** A cell that is written again within 64 changes of the file keeps its index entry. */
const versionsPerBlock = 64;

/**
 * One migration per version; a file of version n has the first n of them.
 * Rows that decisions use have a checksum, so that damage by the disk is detected.
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
  // Versions are indexed by block: an index of single versions would write a second page in almost every commit.
  `ALTER TABLE cells ADD COLUMN block INTEGER NOT NULL DEFAULT 0;
   UPDATE cells SET block = version / ${versionsPerBlock};
   DROP INDEX cellsByVersion;
   CREATE INDEX cellsByBlock ON cells (block);`,
  // From this version on a journal row may hold many traces, which older versions cannot read.
  '',
];

/** Returns the block of a version. */
export function blockOf(version: number): number {
  return Math.floor(version / versionsPerBlock);
}

/**
 * Migrates a file to the last version in one transaction: a crash leaves the old version, and no process sees a version
 * without its signature.
 */
export function migrate(db: DatabaseSync, sign: () => void, list: readonly string[] = migrations): void {
  if (versionOf(db) >= list.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = versionOf(db); // Another process may have migrated the file meanwhile.
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

/** Describes a file of a newer version; the text continues a sentence that begins with the file name. */
export function newerThan(version: number): string {
  const supported = `this Switchgear knows versions up to ${migrations.length}`;
  return `has version ${version}, and ${supported}: install the newer Switchgear here, too, or use another file`;
}

/** Returns the version of a file; 0 = new. */
export function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version ?? 0);
}
