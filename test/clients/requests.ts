/** What a request to the model says of the conversation it is about: how far it is, and whose it is. */

export interface Asked {
  /** Turns that the model had in this conversation before. */
  readonly step: number;
  /** The number of the errand, where a subagent asks; its prompt names it. */
  readonly errand: number | undefined;
  /** Ids of calls whose results are in the conversation. */
  readonly results: readonly string[];
  /** What was said to the model last, as text. */
  readonly last: string;
  readonly body: string;
}

/** How the prompts of subagents begin. */
export const errandMark = 'ERRAND';

interface Item {
  readonly role?: string;
  readonly type?: string;
  readonly content?: unknown;
  readonly call_id?: string;
}

export function askedIn(body: string): Asked {
  const { messages, input, contents } = JSON.parse(body) as Record<
    'messages' | 'input' | 'contents',
    Item[] | undefined
  >;
  const items = messages ?? input ?? contents ?? [];
  const isModel = ({ role, type = '' }: Item) =>
    role === 'assistant' || role === 'model' || /^(function|custom_tool)_call$/.test(type);
  const first = items.findIndex(isModel);
  const opening = JSON.stringify(first === -1 ? items : items.slice(0, first));
  // The last one is what this agent was asked; what stands before it are words of the program.
  const errand = [...opening.matchAll(new RegExp(`${errandMark} (\\d+)`, 'g'))].at(-1)?.[1];
  return {
    step: items.filter((item, at) => isModel(item) && (at === 0 || !isModel(items[at - 1]!))).length,
    errand: errand === undefined ? undefined : Number(errand),
    results: [...body.matchAll(/"tool_use_id":\s*"([^"]+)"/g)].map((found) => found[1]!),
    last: JSON.stringify(items.slice(items.findLastIndex(isModel) + 1)),
    body,
  };
}
