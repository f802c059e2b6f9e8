/** How JSON lines of a program that nobody knows are read: what each kind of line is, where its fields stand. */

/** What a line may be to us. */
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

export type MappedField = (typeof mappedFields)[number];

/** What a kind of event is to us, and where its fields stand: paths with dots, e.g. `payload.tool.name`. */
export type EventMapping = { readonly as: (typeof mappedKinds)[number] } & { readonly [F in MappedField]?: string };

/** How to read the lines of a program. */
export interface StreamMapping {
  /** Where the kind of an event stands; `type` unless said. */
  readonly kind?: string;
  /** What each kind is; the rest are signs of life. */
  readonly events: Readonly<Record<string, EventMapping>>;
}
