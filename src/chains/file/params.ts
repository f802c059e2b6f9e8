/** Reads the parameters of a run, texts or values, by the types that the chain declares. */

import { parseNumber } from '../../core/controls/rules/read-key.ts';
import { SwitchgearError } from '../../core/error.ts';
import { chainTextMax } from '../../core/limits.ts';
import { findNearestName } from '../../core/names.ts';
import { describeValue } from '../../core/plain-copy.ts';
import type { Chain, ParamType, ParamValues } from './chain.ts';
import { findUndeclaredNames } from './template-names.ts';

/** Reads the parameters of a run. Throws `invalid_params` with a list of every problem. */
export function readParams(chain: Chain, input: Readonly<Record<string, unknown>> = {}): ParamValues {
  const problems: string[] = [];
  const values: [string, string | number | boolean][] = [];
  const remaining = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const readInput = (name: string, type: ParamType | undefined) => {
    const value = remaining.get(name);
    const parsed = type === undefined ? asPlainValue(value) : parseParam(type, value);
    if (parsed === undefined) problems.push(`${name} must be ${describeType(type)}, got ${describeValue(value)}`);
    else values.push([name, parsed]);
    remaining.delete(name);
  };
  for (const { name, type, required, default: initial } of chain.params) {
    if (remaining.has(name)) readInput(name, type);
    else if (initial !== undefined) values.push([name, initial]);
    else if (required) problems.push(`${name} is required: give it a ${type}`);
  }
  const undeclared = findUndeclaredNames(chain);
  for (const { name, isNeeded } of undeclared) {
    if (remaining.has(name)) readInput(name, undefined);
    else if (isNeeded) problems.push(`${name} is used but not declared as a parameter, and was not given`);
  }
  const names = [...chain.params, ...undeclared].map(({ name }) => name);
  for (const name of remaining.keys()) {
    const near = findNearestName(name, names);
    const hint = near === undefined ? `it has ${names.join(', ') || 'none'}` : `did you mean ${near}?`;
    problems.push(`${describeValue(name)} is not a parameter of ${chain.id}; ${hint}`);
  }
  if (problems.length > 0) throw new SwitchgearError('invalid_params', problems.join('\n'));
  return Object.fromEntries(values);
}

/** Converts a value, or its text, to the type; undefined if that is impossible. */
export function parseParam(type: ParamType, value: unknown): string | number | boolean | undefined {
  switch (type) {
    case 'text': {
      const text = asPlainValue(value);
      return text === undefined ? undefined : String(text);
    }
    case 'number':
      return typeof value === 'bigint' ? undefined : parseNumber(value);
    case 'boolean':
      return value === true || value === 'true' ? true : value === false || value === 'false' ? false : undefined;
  }
}

function asPlainValue(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string') return value.length <= chainTextMax ? value : undefined;
  return typeof value === 'boolean' || Number.isFinite(value) ? (value as number | boolean) : undefined;
}

function describeType(type: ParamType | undefined): string {
  if (type === 'number') return 'a number';
  return type === 'boolean' ? 'true or false' : `a text of at most ${chainTextMax} characters`;
}
