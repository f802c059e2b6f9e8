/** The last error of a tool, model or worker, as texts for a model or a person show it. */

import { peek, readError } from '../classify.ts';
import { cleanLine, sliceWhole } from '../foreign-text.ts';
import { maskSecrets } from '../secret-shapes.ts';

/** Characters of an error that the memory keeps, and that a text about it shows. */
const errorKeptMax = 600;
const errorShownMax = 160;

/** The message of an error or of a result that reports one, cut; empty if it has none. */
export function readFailureText(ending: { readonly error: unknown } | { readonly value: unknown }): string {
  const source = 'error' in ending ? ending.error : ending.value;
  try {
    const reported = 'error' in ending ? undefined : peek(source, 'error');
    const text = [readError(reported ?? source).message, readContent(source), readStatus(source)].find(Boolean) ?? '';
    return sliceWhole(text, errorKeptMax);
  } catch {
    return ''; // A getter or a proxy that throws.
  }
}

/** The first text of a result of MCP. */
function readContent(value: unknown): string {
  const text = peek(peek(peek(value, 'content'), '0'), 'text');
  return typeof text === 'string' ? text : '';
}

function readStatus(value: unknown): string {
  const status = peek(value, 'status');
  return typeof status === 'number' ? `HTTP ${status}` : '';
}

/** The HTTP status of an error or of a result that reports one. */
export function readFailureStatus(
  ending: { readonly error: unknown } | { readonly value: unknown },
): number | undefined {
  const source = 'error' in ending ? ending.error : ending.value;
  const status = peek(source, 'status') ?? peek(source, 'statusCode') ?? peek(peek(source, 'response'), 'status');
  return typeof status === 'number' && status >= 100 && status < 1_000 ? Math.trunc(status) : undefined;
}

/** A text about an error for a line that a model or a person reads: without secrets and control characters, cut. */
export function showError(text: string): string {
  const masked = maskSecrets(text, (kind) => `[${kind}]`);
  const line = cleanLine(masked, ' ').replaceAll(/\s+/g, ' ').trim();
  return line.length > errorShownMax ? `${sliceWhole(line, errorShownMax - 1)}…` : line;
}
