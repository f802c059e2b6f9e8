/**
 * `{{name}}` in the texts of a chain. A name is an output, a parameter, or a path into an output (`{{order.amount}}`).
 * Nothing is evaluated, only own properties are read, and a filled value is never read as a template again.
 */

import { type LookupResult, readKey, stringifyValue } from '../../core/controls/rules/read-key.ts';
import { SwitchgearError } from '../../core/error.ts';
import { chainFilledMax } from '../../core/limits.ts';
import { describeValue } from '../../core/plain-copy.ts';
import type { ParamValues } from './chain.ts';

/** The values that a name can refer to at a step. */
export interface TemplateScope {
  readonly params: ParamValues;
  /** Outputs of the steps so far, by output key. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** Literal text, or a name to fill. */
export type TemplatePiece = string | { readonly name: string };

/** The pieces of a text, or the reason why the text is not a template. */
export type ParsedTemplate =
  | { readonly pieces: readonly TemplatePiece[]; readonly error?: undefined }
  | { readonly error: string };

const nameRegExp = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*$/u;

/** Splits a text into its pieces, in one pass. */
export function parseTemplate(text: string): ParsedTemplate {
  const pieces: TemplatePiece[] = [];
  let from = 0;
  for (;;) {
    const open = text.indexOf('{{', from);
    if (open < 0) break;
    const close = text.indexOf('}}', open + 2);
    if (close < 0) return { error: `has {{ without }}: ${describeValue(text.slice(open))}` };
    const name = text.slice(open + 2, close).trim();
    if (name === '') return { error: 'has an empty {{}}: put a name into it' };
    if (!nameRegExp.test(name)) return { error: `has {{${describeValue(name).slice(1, -1)}}}, which is not a name` };
    if (open > from) pieces.push(text.slice(from, open));
    pieces.push({ name });
    from = close + 2;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return { pieces };
}

/** Every name in the texts of a value. */
export function collectNames(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    const { pieces = [] } = parseTemplate(value) as { pieces?: readonly TemplatePiece[] };
    return pieces.flatMap((piece) => (typeof piece === 'string' ? [] : piece.name));
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(collectNames);
}

/** Resolves a name or the reference of a condition: outputs take precedence over parameters. */
export function resolveName(name: string, { outputs, params }: TemplateScope): LookupResult {
  const result = readKey(outputs, name);
  return result.kind === 'missing' ? readKey(params, name) : result;
}

/**
 * The value with every name filled. `{{name}}` alone keeps the type of the value; within a text it becomes text.
 * Throws `unfilled_template` if a name has no value or the result is too large.
 */
export function fillTemplates<T>(value: T, scope: TemplateScope): T {
  const sizes = new Map<string, number>();
  let remaining = chainFilledMax;
  const spend = (length: number) => {
    remaining -= length;
    if (remaining < 0) throw templateError(`the filled text is longer than ${chainFilledMax} characters`);
  };
  const resolveValue = (name: string): unknown => {
    const result = resolveName(name, scope);
    if (result.kind === 'value') return result.value;
    throw templateError(
      `{{${name}}} stands for nothing: no step has output it and no parameter of that name was given`,
    );
  };
  const resolveText = (name: string): string => {
    const found = resolveValue(name);
    const text = stringifyValue(found);
    if (text === undefined) throw templateError(`{{${name}}} cannot be written as text`);
    return text;
  };
  const fillText = (text: string): unknown => {
    const { pieces, error } = parseTemplate(text) as { pieces: readonly TemplatePiece[]; error?: string };
    if (error !== undefined) throw templateError(`the text ${error}`);
    const [only] = pieces;
    if (pieces.length === 1 && typeof only === 'object') {
      const size = sizes.get(only.name) ?? resolveText(only.name).length;
      sizes.set(only.name, size);
      spend(size);
      return resolveValue(only.name);
    }
    let filled = '';
    for (const piece of pieces) {
      const part = typeof piece === 'string' ? piece : resolveText(piece.name);
      spend(part.length);
      filled += part;
    }
    return filled;
  };
  const fill = (part: unknown): unknown => {
    if (typeof part === 'string') return part.includes('{{') ? fillText(part) : part;
    if (Array.isArray(part)) return part.map(fill);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, fill(inner)]));
  };
  return fill(value) as T;
}

function templateError(message: string): SwitchgearError {
  return new SwitchgearError('unfilled_template', message);
}
