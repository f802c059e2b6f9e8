/** Adds what the model should be told to a result it will read: to plain text, and to content as MCP has it. */

import type { CallSite } from './call-site.ts';

/** The value, with the note that its task holds; one that cannot carry it stays as it is, and the note waits. */
export function attachHint({ task, target }: CallSite, value: unknown): unknown {
  const note = task?.loopHint;
  if (task === undefined || note === undefined || target.kind !== 'tool') return value; // A model's words are its own.
  try {
    const noted = add(value, note);
    if (noted !== value) task.loopHint = undefined;
    return noted;
  } catch {
    return value; // A value that does not want to be looked at.
  }
}

/** Data as text stays untouched, and so does a single word or a list of them: somebody may parse or compare it. */
const data = /^\s*(["[{<]|-?\d|---|true\b|false\b|null\b|\S*[^\S\n]*(\n|$))/;

function add(value: unknown, note: string): unknown {
  if (typeof value === 'string') return data.test(value) ? value : `${value}\n\n[switchgear] ${note}`;
  const content = typeof value === 'object' && value !== null && 'content' in value ? value.content : undefined;
  if (!Array.isArray(content) || content.some((part) => typeof part?.type !== 'string')) return value;
  return { ...(value as object), content: [...content, { type: 'text', text: `[switchgear] ${note}` }] };
}
