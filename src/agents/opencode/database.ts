/** Follows a session of opencode in its database: read only, by the time at which a part last changed. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { createRecentMap } from '../../core/bounded.ts';
import { countedIdsMax, sessionFilesMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { type Fields, fieldsOf, textOf } from '../reading/reader.ts';
import type { SessionWatch, SessionWatchOptions } from '../session-watch.ts';
import { opencodePartEvents } from './session.ts';

const childrenOf = 'SELECT id FROM session WHERE parent_id = ? LIMIT ?';
const partsSince = `SELECT p.id AS id, p.data AS data, p.time_updated AS changed, m.data AS message
  FROM part p JOIN message m ON m.id = p.message_id
  WHERE p.session_id = ? AND p.time_updated >= ? ORDER BY p.time_updated, p.id LIMIT ?`;

export function opencodeWatch({
  session,
  home,
  env,
  beside = false,
  resumed,
  sinceMs,
}: SessionWatchOptions): SessionWatch {
  const path = join(env.XDG_DATA_HOME ?? join(home, '.local', 'share'), 'opencode', 'opencode.db');
  const known = new Map<string, number>([[session, resumed === true ? sinceMs : 0]]);
  /** Parts as they were when they were last told. */
  const told = createRecentMap<number>(countedIdsMax);
  let database: DatabaseSync | undefined;
  let model: string | undefined;

  function open(): DatabaseSync {
    // Asked for only here: most runs are of other agents, and need no database.
    const { DatabaseSync } = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite');
    return new DatabaseSync(path, { readOnly: true });
  }

  function look(from: DatabaseSync): readonly AgentEvent[] {
    const events: AgentEvent[] = [];
    for (const [id, fromMs] of known) {
      for (const child of from.prepare(childrenOf).all(id, sessionFilesMax)) {
        const name = textOf(child.id);
        if (name !== undefined && !known.has(name) && known.size < sessionFilesMax) known.set(name, 0);
      }
      for (const row of from.prepare(partsSince).all(id, fromMs, sessionFilesMax)) {
        const changed = Number(row.changed);
        const part = String(row.id);
        if (told.get(part) === changed) continue;
        told.set(part, changed);
        known.set(id, Math.max(known.get(id) ?? 0, changed));
        const { role, modelID } = parsed(row.message);
        const stored = {
          session: id,
          part: { id: part, ...parsed(row.data) },
          role: textOf(role),
          model: textOf(modelID),
        };
        if (id === session && stored.model !== undefined && stored.model !== model) {
          model = stored.model; // The stream does not tell it, and prices depend on it.
          events.push({ type: 'session', id, model });
        }
        events.push(...opencodePartEvents(stored, session, { beside }));
      }
    }
    return events;
  }

  return {
    poll() {
      try {
        database ??= open();
        return look(database);
      } catch {
        return []; // Not there yet, busy, or of another shape: the stream alone has to do.
      }
    },
    close() {
      try {
        database?.close();
      } catch {
        // It was never more than read.
      }
      database = undefined;
    },
  };
}

function parsed(data: unknown): Fields {
  try {
    return typeof data === 'string' ? fieldsOf(JSON.parse(data)) : {};
  } catch {
    return {};
  }
}
