/** Schemas of requests: one record checks a value and is a part of the OpenAPI document, as it is. */

import { SwitchgearError } from '../../core/error.ts';
import { quoteValue } from '../../core/quote.ts';

interface Described {
  readonly description?: string;
}

/** The schema of one value: a part of JSON Schema. Without a type, any JSON value passes. */
export type Schema =
  | (Described & { readonly type: 'string'; readonly enum: readonly string[] })
  | (Described & { readonly type: 'string'; readonly maxLength: number; readonly minLength?: number })
  | (Described & { readonly type: 'integer' | 'number'; readonly minimum: number; readonly maximum: number })
  | (Described & { readonly type: 'boolean' })
  | (Described & {
      readonly type: 'array';
      readonly items: { readonly type: 'string'; readonly maxLength: number; readonly minLength?: number };
      readonly minItems: number;
      readonly maxItems: number;
    })
  | (Described & { readonly type?: never });

/** The schema of a query or a body. */
export interface ObjectSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Schema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** The type of a value that passed a schema. */
type ValueOf<S> = S extends { readonly enum: readonly (infer E)[] }
  ? E
  : S extends { readonly type: 'string' }
    ? string
    : S extends { readonly type: 'integer' | 'number' }
      ? number
      : S extends { readonly type: 'boolean' }
        ? boolean
        : S extends { readonly type: 'array' }
          ? readonly string[]
          : unknown;

/** The type of an object that passed a schema. */
export type Checked<O extends ObjectSchema> = {
  readonly [K in keyof O['properties']]?: ValueOf<O['properties'][K]>;
};

/** Makes the schema of an object; unknown properties are refused. */
export function objectSchema<const P extends Readonly<Record<string, Schema>>>(
  properties: P,
  ...required: readonly (keyof P & string)[]
): ObjectSchema & { readonly properties: P } {
  return { type: 'object', properties, required, additionalProperties: false };
}

/** Checks an object; throws `invalid_argument` with the name of the first wrong property. */
export function checkObject(schema: ObjectSchema, value: unknown, noun: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidError(`the ${noun} must be an object, got ${quoteValue(value)}`);
  const input = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(input)) {
    const property = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
    if (property === undefined)
      throw invalidError(`unknown ${noun} property ${quoteValue(name)}; expected ${listNames(schema)}`);
    const problem = findProblem(property, input[name]);
    if (problem !== undefined) throw invalidError(`${name} must be ${problem}, got ${quoteValue(input[name])}`);
  }
  for (const name of schema.required)
    if (!Object.hasOwn(input, name)) throw invalidError(`the ${noun} must have the property ${name}`);
  return input;
}

/** Converts the texts of a query to the types of its schema and checks them. */
export function checkQuery(schema: ObjectSchema, query: URLSearchParams): Readonly<Record<string, unknown>> {
  const input: Record<string, unknown> = {};
  for (const [name, text] of query) {
    if (Object.hasOwn(input, name)) throw invalidError(`the query has ${quoteValue(name)} twice`);
    const type = Object.hasOwn(schema.properties, name) ? schema.properties[name]?.type : undefined;
    input[name] = convertText(type, text);
  }
  return checkObject(schema, input, 'query');
}

function convertText(type: Schema['type'], text: string): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d{1,16}(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

/** The words for what a value must be; undefined if it is that. */
function findProblem(schema: Schema, value: unknown): string | undefined {
  switch (schema.type) {
    case 'string':
      return findTextProblem(schema, value);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'true or false';
    case 'integer':
    case 'number': {
      const { type, minimum, maximum } = schema;
      const isNumber = typeof value === 'number' && (type === 'number' || Number.isSafeInteger(value));
      if (isNumber && value >= minimum && value <= maximum) return undefined;
      return `${type === 'integer' ? 'a whole number' : 'a number'} from ${minimum} to ${maximum}`;
    }
    case 'array': {
      const { items, minItems, maxItems } = schema;
      const isList = Array.isArray(value) && value.length >= minItems && value.length <= maxItems;
      const problem = isList ? value.map((item) => findTextProblem(items, item)).find(Boolean) : '';
      return problem === undefined ? undefined : `a list of ${minItems} to ${maxItems} texts`;
    }
    case undefined:
      return undefined;
  }
}

function findTextProblem(schema: Extract<Schema, { readonly type: 'string' }>, value: unknown): string | undefined {
  if ('enum' in schema)
    return schema.enum.includes(value as string)
      ? undefined
      : `one of ${schema.enum.map((each) => `"${each}"`).join(', ')}`;
  const { minLength = 0, maxLength } = schema;
  const isFitting = typeof value === 'string' && value.length >= minLength && value.length <= maxLength;
  return isFitting ? undefined : `a text of ${minLength} to ${maxLength} characters`;
}

function listNames({ properties }: ObjectSchema): string {
  return Object.keys(properties).join(', ') || 'none';
}

function invalidError(message: string): SwitchgearError {
  return new SwitchgearError('invalid_argument', message);
}
