/** Follows a session of opencode in its database, read-only, by the time of each part's last change. */

import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { createRecentMap } from '../../core/bounded.ts';
import { countedIdsMax, sessionFilesMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { markEvents } from '../reading/event-source.ts';
import { asObject, asText, type JsonObject } from '../reading/reader.ts';
import type { SessionWatch, SessionWatchOptions } from '../session-watch.ts';
import { readOpencodePart } from './session.ts';

const childrenQuery = 'SELECT id FROM session WHERE parent_id = ? LIMIT ?';
const partsQuery = `SELECT p.id AS id, p.data AS data, p.time_updated AS changed, m.data AS message
  FROM part p JOIN message m ON m.id = p.message_id
  WHERE p.session_id = ? AND p.time_updated >= ? ORDER BY p.time_updated, p.id LIMIT ?`;

export function watchOpencode({
  session,
  home,
  env,
  besideStream = false,
  resumed,
  sinceMs,
}: SessionWatchOptions): SessionWatch {
  const path = join(env.XDG_DATA_HOME ?? join(home, '.local', 'share'), 'opencode', 'opencode.db');
  const sessions = new Map<string, number>([[session, resumed === true ? sinceMs : 0]]);
  /** The time of change of each part that was reported. */
  const emittedAtMs = createRecentMap<number>(countedIdsMax);
  let database: DatabaseSync | undefined;
  let model: string | undefined;

  function openDatabase(): DatabaseSync {
    // Loaded here, because runs of other agents need no database.
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    return new DatabaseSync(path, { readOnly: true });
  }

  function readChanges(source: DatabaseSync): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    for (const [id, fromMs] of sessions) {
      for (const child of source.prepare(childrenQuery).all(id, sessionFilesMax)) {
        const name = asText(child.id);
        if (name !== undefined && !sessions.has(name) && sessions.size < sessionFilesMax) sessions.set(name, 0);
      }
      for (const row of source.prepare(partsQuery).all(id, fromMs, sessionFilesMax)) {
        const changed = Number(row.changed);
        const part = String(row.id);
        if (emittedAtMs.get(part) === changed) continue;
        emittedAtMs.set(part, changed);
        sessions.set(id, Math.max(sessions.get(id) ?? 0, changed));
        const { role, modelID } = parseObject(row.message);
        const stored = {
          session: id,
          part: { id: part, ...parseObject(row.data) },
          role: asText(role),
          model: asText(modelID),
        };
        if (id === session && stored.model !== undefined && stored.model !== model) {
          model = stored.model; // The stream does not contain the model, which is needed for prices.
          events.push({ type: 'session', id, model });
        }
        events.push(...markEvents(readOpencodePart(stored, session, { besideStream }), 'files'));
      }
    }
    return events;
  }

  return {
    poll() {
      try {
        database ??= openDatabase();
        return readChanges(database);
      } catch {
        return []; // The database is missing, locked or of an unknown version: only the stream is read.
      }
    },
    close() {
      try {
        database?.close();
      } catch {
        // The database was only read, so a failed close is harmless.
      }
      database = undefined;
    },
  };
}

function parseObject(data: unknown): JsonObject {
  try {
    return typeof data === 'string' ? asObject(JSON.parse(data)) : {};
  } catch {
    return {};
  }
}
