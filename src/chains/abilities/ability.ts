/** The interface of an ability, and the parts that abilities share: errors, outputs, arguments, the policy switch. */

import type { AbilitySettings } from '../../core/declare/ability-settings.ts';
import { SwitchgearError } from '../../core/error.ts';
import { abilityOutputBytesMax } from '../../core/limits.ts';
import { quoteValue } from '../../core/quote.ts';
import type { LeftBehind } from '../../supervisor/left-behind.ts';

/** One call of an ability. */
export interface AbilityCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Aborts when the step times out, or the run is halted or cancelled. */
  readonly signal: AbortSignal;
  /** An idempotency key: the same for every attempt of this step of this run. */
  readonly attemptKey: string;
  /** What a person approved this call for, as JSON of `identify`; another server must not run it. */
  readonly approvedIdentity?: string;
  /**
   * Takes work that remains after the result: the programs that the ability has left running are given time, ended and
   * named. The step waits for it, and its time is not counted as time of the ability.
   * @default the ability does this work before it returns
   */
  readonly afterwards?: (work: AbilityAftermath) => void;
}

/** Handles the programs that an ability has left running; `stop` aborts when they must end at once. */
export type AbilityAftermath = (stop: AbortSignal) => Promise<LeftBehind | undefined>;

/** A source of abilities: an MCP server, functions in code, or the built-in abilities. */
export interface AbilitySource {
  /** Finds an ability by name, or returns undefined; may start the source first. */
  find(name: string): Promise<Ability | undefined>;
  /** The names of its abilities, for error messages. */
  names(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** A named operation that a step of a chain calls. */
export interface Ability {
  readonly name: string;
  /** The scope of its breaker: one for all agents, or one per agent. */
  readonly scope: 'shared' | 'agent';
  /**
   * What the ability resolves to for these arguments, as plain JSON: the server or program behind its name. An approval
   * holds only while this stays the same.
   * @default nothing but its name
   */
  readonly identify?: (args: AbilityCall['args']) => unknown;
  /** Runs the ability and returns plain JSON; throws `AbilityError` on failure. */
  run(call: AbilityCall): Promise<unknown>;
}

/** Details of a failure, which breakers and policies read. */
export interface AbilityFacts {
  /**
   * `InvalidArguments` and `PolicyDenied` do not count against a breaker.
   * @default 'HttpError' with a status, else 'ToolError'
   */
  readonly name?: 'ToolError' | 'HttpError' | 'NetworkError' | 'InvalidArguments' | 'PolicyDenied';
  /** The error code of the system or protocol. */
  readonly code?: string | number;
  /** The status of the HTTP response. */
  readonly status?: number;
  /** The wait that the server requested. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** The failure of an ability. */
export class AbilityError extends Error {
  readonly code?: string | number;
  readonly status?: number;
  readonly retryAfterMs?: number;

  constructor(message: string, { name, code, status, retryAfterMs, cause }: AbilityFacts = {}) {
    super(message, cause === undefined ? {} : { cause });
    this.name = name ?? (status === undefined ? 'ToolError' : 'HttpError');
    if (code !== undefined) this.code = code;
    if (status !== undefined) this.status = status;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

/** Converts a value to plain JSON, undefined to null; throws if the value is not JSON or too large. */
export function toPlainOutput(name: string, value: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(value ?? null);
  } catch (cause) {
    throw new AbilityError(`${name} returned a value that is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (text === undefined) throw new AbilityError(`${name} returned a ${typeof value}, which is not JSON`);
  const bytes = Buffer.byteLength(text);
  if (bytes > abilityOutputBytesMax) throw outputTooLarge(name, bytes);
  return JSON.parse(text);
}

/** The error for an output over the size limit; `bytes` is undefined if the reader stopped early. */
export function outputTooLarge(name: string, bytes: number | undefined): AbilityError {
  const size = bytes === undefined ? 'too many bytes' : `${bytes} bytes`;
  return new AbilityError(`${name} returned ${size}; an output may have at most ${abilityOutputBytesMax} bytes`);
}

/** Parses text as JSON; returns the text if it is not JSON, or is a number that would lose digits. */
export function parseTextValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'number' && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}

/** The error for a wrong argument; does not count against a breaker. */
export function argumentError(ability: string, what: string): AbilityError {
  return new AbilityError(`${ability}: ${what}`, { name: 'InvalidArguments' });
}

/** Throws on an argument that the ability does not have. */
export function checkArgumentNames(ability: string, args: object, names: readonly string[]): void {
  for (const name of Object.keys(args)) {
    if (!names.includes(name))
      throw argumentError(ability, `${quoteValue(name)} is not an argument; it takes ${names.join(', ')}`);
  }
}

/** Reads a table of names and texts; converts numbers and booleans to text. */
export function requireTexts(ability: string, name: string, value: unknown): readonly (readonly [string, string])[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw argumentError(ability, `${name} must be a table, got ${quoteValue(value)}`);
  return Object.entries(value).map(([key, item]) => [key, requireText(ability, `${name}.${key}`, item)]);
}

/** Reads a text; converts numbers and booleans. */
export function requireText(ability: string, name: string, value: unknown): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw argumentError(ability, `${name} must be a text, got ${quoteValue(value)}`);
}

/** A source of abilities that are off until a setting of the policy's section `abilities` is true. */
export function createSwitchedSource(
  setting: keyof AbilitySettings & string,
  isOn: boolean,
  abilities: readonly Ability[],
): AbilitySource {
  return {
    async find(name) {
      const found = abilities.find((ability) => ability.name === name);
      if (found && !isOn) {
        const how = `set ${setting} = true in the section [abilities] of the policy`;
        throw new SwitchgearError('ability_off', `the ability ${name} is off: to turn it on, ${how}`);
      }
      return found;
    },
    names: async () => (isOn ? abilities.map(({ name }) => name) : []),
    close: async () => {},
  };
}
