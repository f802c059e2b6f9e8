/** Looks for prompts of a person and results of calls in the session file of a host, which lacks made-up ones. */

import { closeSync, readSync } from 'node:fs';
import { hookTranscriptBytesMax } from '../core/limits.ts';
import { openRegularFile } from '../platform/regular-file.ts';

/** The size of a session file, and whether it contains a prompt; undefined if that cannot be told. */
export function findPrompt(
  path: string,
  text: string,
  fromBytes = 0,
): { readonly isHeld: boolean; readonly bytes: number } | undefined {
  const rest = readFrom(path, (bytes) => Math.max(fromBytes, bytes - hookTranscriptBytesMax));
  if (rest === undefined || rest.bytes === 0) return undefined;
  const wanted = text.trim();
  const isHeld = rest.text.split('\n').some((line) => readPrompts(line).includes(wanted));
  return { isHeld, bytes: rest.bytes };
}

/** Whether a person's prompt was written to a session file after a position; undefined if that cannot be told. */
export function hasPromptSince(path: string, fromBytes: number): boolean | undefined {
  const rest = readFrom(path, () => fromBytes);
  return rest?.text.split('\n').some((line) => readPrompts(line).some((text) => !insertedText.test(text)));
}

/** Matches texts that hosts write by themselves in the place of a prompt. */
const insertedText = new RegExp(
  `^(<(${[
    ...['task-notification', 'system-reminder', 'local-command-std(out|err)', 'bash-std(out|err)'],
    ...['environment_context', 'user_instructions', 'turn_aborted', 'session_context'],
  ].join('|')})\\b|\\[Request interrupted)`,
);

function readFrom(path: string, start: (bytes: number) => number) {
  const opened = openRegularFile(path);
  if (opened === undefined) return undefined; // The host has not written the file yet, or keeps it elsewhere.
  const { file, size } = opened;
  try {
    const from = Math.min(start(size), size);
    const buffer = Buffer.alloc(Math.min(size - from, hookTranscriptBytesMax));
    const read = readSync(file, buffer, 0, buffer.length, from);
    return { text: buffer.toString('utf8', 0, read), bytes: size };
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}

/** Whether a session file has the result of a call; undefined if that cannot be told. */
export function hasResult(path: string, id: string): boolean | undefined {
  const rest = readFrom(path, (bytes) => Math.max(0, bytes - hookTranscriptBytesMax));
  if (rest === undefined || rest.bytes === 0) return undefined;
  const written = JSON.stringify(id);
  return rest.text.split('\n').some((line) => line.includes(written) && isResultOf(line, id));
}

function isResultOf(line: string, id: string): boolean {
  try {
    const { message, payload } = JSON.parse(line) as SessionLine;
    if (payload?.call_id === id) return String(payload.type).endsWith('_output');
    const parts = Array.isArray(message?.content) ? (message.content as readonly (ResultPart | null)[]) : [];
    return parts.some((part) => part?.type === 'tool_result' && part.tool_use_id === id);
  } catch {
    return false;
  }
}

interface ResultPart {
  readonly type?: unknown;
  readonly tool_use_id?: unknown;
}

interface SessionLine {
  readonly type?: unknown;
  readonly isMeta?: unknown;
  readonly isSidechain?: unknown;
  readonly message?: { readonly content?: unknown } | null;
  readonly content?: unknown;
  readonly payload?: {
    readonly type?: unknown;
    readonly role?: unknown;
    readonly message?: unknown;
    readonly content?: unknown;
    readonly call_id?: unknown;
  } | null;
}

/** The texts of a prompt, each part and all together, if a line of a session file of any host is one. */
function readPrompts(line: string): readonly string[] {
  if (!/"user(_message)?"/.test(line)) return [];
  try {
    const { type, isMeta, isSidechain, message, content, payload } = JSON.parse(line) as SessionLine;
    if (payload?.type === 'user_message') return readTexts(payload.message);
    if (payload?.role === 'user') return readTexts(payload.content);
    if (type !== 'user' || isMeta === true || isSidechain === true) return [];
    return readTexts(message?.content ?? content);
  } catch {
    return [];
  }
}

function readTexts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content.trim()];
  if (!Array.isArray(content)) return [];
  const texts = content.flatMap((part: { readonly text?: unknown } | null) =>
    typeof part?.text === 'string' ? [part.text.trim()] : [],
  );
  return texts.length > 1 ? [...texts, texts.join('\n'), texts.join('')] : texts;
}
