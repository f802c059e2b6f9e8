/**
 * Adds arguments to entries if the policy enables it: a short text without values that look like secrets, or the
 * whole text within bounds. Arguments are dropped after the tick of their proposal.
 */

import type { EntryBody } from '../../core/event.ts';
import { fingerprintDepthMax, fingerprintEntriesMax, fullContentMax, redactedContentMax } from '../../core/limits.ts';
import { isSecretFlag, isSecretName, maskSecrets } from '../../core/secret-shapes.ts';
import type { JournalSettings } from '../../core/settings.ts';
import type { ArgumentContent } from '../../ports/policy.ts';

/** Creates the part that adds arguments to entries; undefined if the policy does not enable it. */
export function createContent({ content }: JournalSettings): ArgumentContent | undefined {
  if (content === 'none') return undefined;
  let last: { readonly id: string | number; readonly args: WeakRef<readonly unknown[]> } | undefined;
  return {
    rememberArgs(id, args) {
      last = Array.isArray(args) ? { id, args: new WeakRef(args) } : undefined;
    },
    addArgs(body: EntryBody): EntryBody {
      if (!('action' in body)) return body;
      const args = last?.id === body.action.id ? last.args.deref() : undefined;
      return args === undefined ? body : { ...body, args: formatArguments(args, content === 'redacted') };
    },
  };
}

/** Formats arguments as one line of JSON, with cuts and omissions. Never throws. */
export function formatArguments(args: readonly unknown[], redacted: boolean): string {
  const max = redacted ? redactedContentMax : fullContentMax;
  const walk = { room: max, entries: fingerprintEntriesMax, redacted };
  try {
    const text = first(args, walk)
      .map((arg) => show(arg, walk, 0))
      .join(', ');
    return text.length > max ? `${text.slice(0, max - 1)}…` : text;
  } catch {
    return ''; // A throwing getter or a revoked proxy cannot be shown.
  }
}

/** The remaining length of the text. */
interface Walk {
  room: number;
  entries: number;
  readonly redacted: boolean;
}

const hidden = '[redacted]';

function redact(text: string): string {
  return maskSecrets(text, () => hidden);
}

function show(value: unknown, walk: Walk, depth: number): string {
  if (walk.room <= 0 || walk.entries-- <= 0) return '…';
  if (typeof value === 'object' && value !== null) {
    if (depth >= fingerprintDepthMax) return '…';
    if (ArrayBuffer.isView(value)) return took(walk, `[${value.byteLength} bytes]`);
    if (Array.isArray(value)) return `[${first(value, walk).map((_, at) => item(value, at, walk, depth))}]`;
    const fields = value as Readonly<Record<string, unknown>>;
    return `{${first(Object.keys(fields), walk).map((key) => field(key, fields, walk, depth))}}`;
  }
  if (typeof value !== 'string') return took(walk, typeof value === 'function' ? '[function]' : String(value));
  // A secret may start before the cut and end after it.
  const seen = value.slice(0, 2 * walk.room + redactedContentMax);
  const text = walk.redacted ? redact(seen) : seen;
  return took(walk, JSON.stringify(text.length > walk.room ? `${text.slice(0, walk.room)}…` : text));
}

/** Formats an item of a list; the item after a secret flag, such as `--token`, is a secret. */
function item(list: readonly unknown[], at: number, walk: Walk, depth: number): string {
  const before = list[at - 1];
  const isSecret = walk.redacted && typeof before === 'string' && isSecretFlag(before.slice(0, redactedContentMax));
  return isSecret ? took(walk, hidden) : show(list[at], walk, depth + 1);
}

/** Formats a field; an object with a name and a value counts as a field as well. */
function field(key: string, fields: Readonly<Record<string, unknown>>, walk: Walk, depth: number): string {
  if (walk.room <= 0) return '…';
  const seen = key.slice(0, 2 * redactedContentMax);
  const text = walk.redacted ? redact(seen) : seen; // The keys of an object may be secrets.
  const name = `${took(walk, JSON.stringify(text.slice(0, redactedContentMax)))}:`;
  const called = key === 'value' ? (fields.name ?? fields.key) : key;
  const isSecret = walk.redacted && typeof called === 'string' && isSecretName(called);
  return name + (isSecret ? took(walk, hidden) : show(fields[key], walk, depth + 1));
}

function first<T>(list: readonly T[], { entries }: Walk): readonly T[] {
  return list.slice(0, Math.max(entries, 0) + 1);
}

function took(walk: Walk, text: string): string {
  walk.room -= text.length;
  return text;
}
