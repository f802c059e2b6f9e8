/** Reports a conversation that is under way and of which the store knows nothing: its earlier calls do not count. */

import { closeSync, readSync } from 'node:fs';
import type { Card } from '../../core/card.ts';
import { hookHistoryBytes } from '../../core/limits.ts';
import { fingerprint, openCard } from '../../guard/internal.ts';
import { openRegularFile } from '../../platform/regular-file.ts';
import type { TranscriptFile } from '../hosts/hook-event.ts';
import type { HookContext } from './hook-tasks.ts';

/** Opens a card once if the transcript of a session that is new here has results of earlier calls. Refuses nothing. */
export function reportUnknownSession(
  { runtime, store, agent, session: name }: HookContext,
  transcript: TranscriptFile,
): void {
  if (!hasEarlierCalls(transcript)) return;
  const id = `card-unknown-${(fingerprint(name, []) >>> 0).toString(36)}`;
  if (store.card(id) !== undefined) return;
  const card: Card = {
    id,
    kind: 'notice',
    task: `hook-${name}`.slice(0, 200),
    code: 'notice',
    counters: {},
    evidence: [
      `a conversation of ${agent} is under way, and the store knows nothing of it: its earlier calls do not count. ` +
        'Its store was deleted or replaced, or the hooks were installed meanwhile',
    ],
    actions: ['dismiss'],
    state: 'open',
  };
  openCard(runtime, card, undefined, runtime.clock.nowMs());
}

/** Whether the beginning of a transcript has the result of a call. */
function hasEarlierCalls({ path, reader }: TranscriptFile): boolean {
  const opened = openRegularFile(path);
  if (opened === undefined) return false;
  const { file, size } = opened;
  try {
    const chunk = Buffer.allocUnsafe(Math.min(size, hookHistoryBytes));
    const read = readSync(file, chunk, 0, chunk.length, 0);
    const lines = chunk.toString('utf8', 0, read).split('\n');
    const events = reader();
    const hasResult = (line: string) => events.read(line).some(({ type }) => type === 'tool_result');
    return lines.some((line) => mentionsResult.test(line) && hasResult(line));
  } catch {
    return false; // A transcript that cannot be read says nothing.
  } finally {
    closeSync(file);
  }
}

/** Matches lines that may contain the result of a call; others are not parsed. */
const mentionsResult = /result|output/i;
