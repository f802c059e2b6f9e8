/**
 * Prepares all SQL statements of a store's file. Parameters are plain `?`: Node before 22.20 and 24.7 treats `?1` as
 * a named parameter, so that positional values are out of range.
 */

import type { DatabaseSync } from 'node:sqlite';

/** Prepares the statements of one open file. */
export function prepareStatements(db: DatabaseSync) {
  const statements = {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    dataVersion: db.prepare('PRAGMA data_version'),
    format: db.prepare('PRAGMA user_version'),
    changedCells: db.prepare(
      'SELECT key, version, state, crc FROM cells WHERE block >= ? AND version > ? ORDER BY version',
    ),
    maxVersion: db.prepare('SELECT max(version) AS version FROM cells WHERE block = (SELECT max(block) FROM cells)'),
    readCells: db.prepare(
      'SELECT key, version, state FROM cells WHERE key >= ? AND key < ? AND substr(key, 1, ?) = ? ' +
        'AND state IS NOT NULL ORDER BY key LIMIT ?',
    ),
    readCell: db.prepare('SELECT version, state, crc FROM cells WHERE key = ?'),
    count: db.prepare('SELECT count(*) AS n FROM cells'),
    updateInBlock: db.prepare(
      'UPDATE cells SET version = ?, untilMs = ?, state = ?, crc = ? WHERE key = ? AND block = ?',
    ),
    put: db.prepare(
      'INSERT INTO cells (version, untilMs, state, crc, key, block) VALUES (?, ?, ?, ?, ?, ?) ' +
        'ON CONFLICT (key) DO UPDATE SET version = excluded.version, untilMs = excluded.untilMs, ' +
        'state = excluded.state, crc = excluded.crc, block = excluded.block',
    ),
    total: db.prepare('SELECT total, crc FROM sums WHERE key = ?'),
    setTotal: db.prepare(
      'INSERT INTO sums (key, total, untilMs, crc) VALUES (?, ?, ?, ?) ' +
        'ON CONFLICT (key) DO UPDATE SET total = excluded.total, untilMs = excluded.untilMs, crc = excluded.crc',
    ),
    dropSum: db.prepare('DELETE FROM sums WHERE key = ?'),
    window: db.prepare('SELECT count(*) AS n, min(atMs) AS oldest FROM marks WHERE key = ? AND atMs > ? AND id <> ?'),
    mark: db.prepare('INSERT OR REPLACE INTO marks (key, id, atMs, untilMs) VALUES (?, ?, ?, ?)'),
    trim: db.prepare(
      'DELETE FROM marks WHERE key = ? AND id IN ' +
        '(SELECT id FROM marks WHERE key = ? ORDER BY atMs DESC, id LIMIT -1 OFFSET ?)',
    ),
    dropMarks: db.prepare('DELETE FROM marks WHERE key = ?'),
    write: db.prepare('INSERT INTO journal (seq, atMs, wallMs, entry, crc) VALUES (?, ?, ?, ?, ?)'),
    lastSeq: db.prepare('SELECT max(seq) AS seq FROM journal'),
    meta: db.prepare('SELECT value, crc FROM meta WHERE key = ?'),
    setMeta: db.prepare('INSERT OR REPLACE INTO meta (key, value, crc) VALUES (?, ?, ?)'),
    dropEnded: db.prepare(
      'DELETE FROM cells WHERE key IN (SELECT key FROM cells WHERE untilMs <= ? AND version < ? LIMIT 500)',
    ),
    lastEnded: db.prepare(
      'SELECT key FROM cells WHERE block = (SELECT max(block) FROM cells) AND version = ? AND untilMs <= ? ' +
        'AND state IS NOT NULL',
    ),
    dropSums: db.prepare('DELETE FROM sums WHERE key IN (SELECT key FROM sums WHERE untilMs <= ? LIMIT 500)'),
    dropMarked: db.prepare(
      'DELETE FROM marks WHERE (key, id) IN (SELECT key, id FROM marks WHERE untilMs <= ? LIMIT 500)',
    ),
    // Sequence numbers grow with time, so no index by age is needed, which would write one more page per commit.
    dropAged: db.prepare(
      'DELETE FROM journal WHERE seq IN (SELECT seq FROM journal ORDER BY seq LIMIT 500) AND wallMs < ? ' +
        'AND seq < (SELECT max(seq) FROM journal)',
    ),
    oldest: db.prepare('SELECT seq, octet_length(entry) AS bytes FROM journal ORDER BY seq LIMIT 2000'),
    dropUpTo: db.prepare('DELETE FROM journal WHERE seq <= ? AND seq < (SELECT max(seq) FROM journal)'),
    cards: db.prepare('SELECT count(*) AS n FROM cells WHERE key >= ? AND key < ? AND state IS NOT NULL'),
    oldestCard: db.prepare(
      'SELECT key FROM cells WHERE key >= ? AND key < ? AND state IS NOT NULL ORDER BY version LIMIT 1',
    ),
  };
  statements.dataVersion.setReturnArrays(true); // Read before every decision.
  return statements;
}
