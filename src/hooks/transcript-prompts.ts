/** Looks for the prompts of a person in the session file of a host: a made-up prompt is not in the file. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { hookTranscriptBytesMax } from '../core/limits.ts';

/** The size of a session file, and whether its end contains a prompt; undefined if that cannot be told. */
export function findPrompt(
  path: string,
  text: string,
): { readonly isHeld: boolean; readonly bytes: number } | undefined {
  const tail = readFrom(path, (bytes) => Math.max(0, bytes - hookTranscriptBytesMax));
  if (tail === undefined || tail.bytes === 0) return undefined;
  const written = JSON.stringify(text.slice(0, 200)).slice(1, -1);
  return { isHeld: tail.text.includes(written), bytes: tail.bytes };
}

/** Whether a person's prompt was written to a session file after a position; undefined if that cannot be told. */
export function hasPromptSince(path: string, fromBytes: number): boolean | undefined {
  const rest = readFrom(path, () => fromBytes);
  return rest?.text.split('\n').some((line) => isPromptLine(line));
}

function readFrom(path: string, start: (bytes: number) => number) {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const stats = fstatSync(file);
    if (!stats.isFile()) return undefined;
    const from = Math.min(start(stats.size), stats.size);
    const buffer = Buffer.alloc(Math.min(stats.size - from, hookTranscriptBytesMax));
    const read = readSync(file, buffer, 0, buffer.length, from);
    return { text: buffer.toString('utf8', 0, read), bytes: stats.size };
  } catch {
    return undefined; // The host has not written the file yet, or keeps it elsewhere.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

interface SessionLine {
  readonly type?: unknown;
  readonly isMeta?: unknown;
  readonly message?: { readonly content?: unknown } | null;
  readonly content?: unknown;
  readonly payload?: { readonly type?: unknown; readonly role?: unknown } | null;
}

/** Whether a line of a session file of any host is a prompt. */
function isPromptLine(line: string): boolean {
  if (!/"user(_message)?"/.test(line)) return false;
  try {
    const { type, isMeta, message, content, payload } = JSON.parse(line) as SessionLine;
    if (payload?.type === 'user_message' || payload?.role === 'user') return true;
    if (type !== 'user' || isMeta === true) return false;
    const parts = message?.content ?? content;
    if (!Array.isArray(parts)) return typeof parts === 'string';
    return parts.some((part) => typeof (part as { text?: unknown } | null)?.text === 'string');
  } catch {
    return false;
  }
}
