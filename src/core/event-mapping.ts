/** The mapping of JSON lines of an unknown program: the kind of each line, and the paths of its fields. */

/** The kinds of events that a line can be. */
export const mappedKinds = [
  'assistant',
  'tool_use',
  'tool_result',
  'usage',
  'user',
  'subagent_started',
  'subagent_ended',
  'result',
  'notice',
] as const;

/** The fields that a mapping may locate. */
export const mappedFields = [
  'id',
  'agent',
  'name',
  'text',
  'input',
  'output',
  'ok',
  'error',
  'model',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cost_usd',
  'parent',
] as const;

/** A field that a mapping may locate. */
export type MappedField = (typeof mappedFields)[number];

/** The kind of an event, and the paths of its fields with dots, e.g. `payload.tool.name`. */
export type EventMapping = { readonly as: (typeof mappedKinds)[number] } & { readonly [F in MappedField]?: string };

/** The mapping of a program's lines. */
export interface StreamMapping {
  /** The path of the field that holds the kind of an event. @default 'type' */
  readonly kind?: string;
  /** The mapping by kind; other kinds are signs of life. */
  readonly events: Readonly<Record<string, EventMapping>>;
}
