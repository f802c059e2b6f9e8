/** Reads the usage of an agent since the last hook from its session file. */

import { closeSync, readSync } from 'node:fs';
import type { Tokens } from '../../agents/reading/agent-event.ts';
import type { Reader } from '../../agents/reading/reader.ts';
import { hookTranscriptBytesMax, hookUsagesMax } from '../../core/limits.ts';
import { openRegularFile } from '../../platform/regular-file.ts';

/** The read position of a file, and the usage of its last messages at that point. Plain JSON. */
export interface ReadMark {
  /** The file; marks of older versions have none. */
  readonly path?: string;
  readonly offset: number;
  readonly last: readonly (readonly [id: string, ...counts: Counts])[];
}

type Counts = readonly [input: number, output: number, cacheRead: number, cacheWrite: number];

/** New usage of one model call. */
export type NewUsage = Tokens & { readonly model?: string };

const newline = 10;

/** Matches lines that may contain usage; others are not parsed, because some contain whole files. */
const mentionsUsage = /"usage"|"tokens"|token_usage_record/;

/**
 * Reads on from a mark. Without a mark the existing content is skipped, unless the file is `fresh`. Returns undefined
 * if the file cannot be read.
 */
export function readNewUsage(
  path: string,
  mark: ReadMark | undefined,
  isNewFile: boolean,
  reader: Reader,
): { readonly mark: ReadMark; readonly used: readonly NewUsage[] } | undefined {
  const opened = openRegularFile(path);
  // The file does not exist yet, so all its content will be new.
  if (opened === undefined) return mark === undefined ? { mark: { offset: 0, last: [] }, used: [] } : undefined;
  const { file, size } = opened;
  try {
    if (mark === undefined && !isNewFile) return { mark: { offset: size, last: [] }, used: [] };
    const { offset = 0, last = [] } = mark ?? {};
    if (size <= offset) return { mark: { offset: size, last }, used: [] };
    const chunk = Buffer.allocUnsafe(Math.min(size - offset, hookTranscriptBytesMax));
    const end = chunk.subarray(0, readSync(file, chunk, 0, chunk.length, offset)).lastIndexOf(newline) + 1;
    if (end === 0) {
      // An incomplete line is read again later; a line longer than the limit is skipped.
      const passed = chunk.length === hookTranscriptBytesMax ? offset + chunk.length : offset;
      return { mark: { offset: passed, last }, used: [] };
    }
    const counted = countUsage(chunk.toString('utf8', 0, end), last, reader);
    return { ...counted, mark: { offset: offset + end, last: counted.last } };
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** Counts usage. A message has several lines, each with its usage so far; only the increase is new. */
function countUsage(text: string, before: ReadMark['last'], reader: Reader) {
  const earlier = new Map(before.map(([id, ...counts]) => [id, counts as Counts]));
  const now = new Map(earlier);
  const models = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (!mentionsUsage.test(line)) continue;
    for (const event of reader.read(line)) {
      if (event.type !== 'usage') continue;
      const { id, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, model } = event;
      const counted: Counts = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
      const highest = combineCounts(counted, now.get(id) ?? none, Math.max);
      now.delete(id);
      now.set(id, highest);
      if (model !== undefined) models.set(id, model);
    }
  }
  const used: NewUsage[] = [];
  for (const [id, counts] of now) {
    const [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens] = combineCounts(
      counts,
      earlier.get(id) ?? none,
      (a, b) => a - b,
    );
    const model = models.get(id);
    const tokens = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
    if (inputTokens + outputTokens > 0) used.push({ ...tokens, ...(model !== undefined && { model }) });
  }
  const last = [...now].slice(-hookUsagesMax).map(([id, counts]) => [id, ...counts] as const);
  return { used, last };
}

const none: Counts = [0, 0, 0, 0];

function combineCounts(a: Counts, b: Counts, combineCount: (a: number, b: number) => number): Counts {
  return [combineCount(a[0], b[0]), combineCount(a[1], b[1]), combineCount(a[2], b[2]), combineCount(a[3], b[3])];
}
