/** Histories of agents in the four APIs. */

import { sonnet } from './harness.ts';

/** One turn of an agent: a call and its result. */
export interface Turn {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
  readonly failed?: boolean;
}

export interface Api {
  readonly path: string;
  /** The status of a refusal. */
  readonly status: number;
  readonly body: (prompt: string, turns: readonly Turn[]) => object;
}

export const apis: Readonly<Record<'anthropic' | 'chat' | 'responses' | 'gemini', Api>> = {
  anthropic: {
    path: '/v1/messages',
    status: 402,
    body: (prompt, turns) => ({
      ...{ model: sonnet, max_tokens: 100, tools: [{ name: 'read' }] },
      messages: [
        { role: 'user', content: prompt },
        ...turns.flatMap(({ id, name, input, output, failed }) => [
          { role: 'assistant', content: [{ type: 'tool_use', id, name, input }] },
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: id, content: output, ...(failed && { is_error: true }) }],
          },
        ]),
      ],
    }),
  },
  chat: {
    path: '/v1/chat/completions',
    status: 402,
    body: (prompt, turns) => ({
      ...{ model: 'gpt-5', tools: [{ type: 'function' }] },
      messages: [
        { role: 'user', content: prompt },
        ...turns.flatMap(({ id, name, input, output }) => [
          { role: 'assistant', tool_calls: [{ id, function: { name, arguments: JSON.stringify(input) } }] },
          { role: 'tool', tool_call_id: id, content: output },
        ]),
      ],
    }),
  },
  responses: {
    path: '/v1/responses',
    status: 400,
    body: (prompt, turns) => ({
      ...{ model: 'gpt-5', tools: [{ type: 'function' }] },
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] },
        ...turns.flatMap(({ id, name, input, output }) => [
          { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) },
          { type: 'function_call_output', call_id: id, output },
        ]),
      ],
    }),
  },
  gemini: {
    path: '/v1beta/models/gemini-2.5-pro:generateContent',
    status: 402,
    body: (prompt, turns) => ({
      tools: [{}],
      contents: [
        { role: 'user', parts: [{ text: prompt }] },
        ...turns.flatMap(({ name, input, output, failed }) => [
          { role: 'model', parts: [{ functionCall: { name, args: input } }] },
          {
            role: 'user',
            parts: [{ functionResponse: { name, response: failed ? { error: output } : { output } } }],
          },
        ]),
      ],
    }),
  },
};

/** The same call with the same result, again and again. */
export function repeatCall(count: number): readonly Turn[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ id: `call_${at}`, name: 'read_file', input: { path: '/a' }, output: 'no such "file"' },
  }));
}

/** Calls that all differ, with results that all differ. */
export function readFiles(count: number, from = 0): readonly Turn[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ id: `call_${from + at}`, name: 'read_file', input: { path: `/f${from + at}` } },
    output: `content ${(from + at) * 7919}`,
  }));
}

const failures = [
  'Error: connection refused',
  'HTTP 503 Service Unavailable',
  'The request timed out after 30 seconds.',
  'getaddrinfo ENOTFOUND issues.example',
  'socket hang up',
  'upstream connect error or disconnect/reset before headers',
  'TLS handshake failed: certificate has expired',
];

/** Calls of a tool that fails in different ways. */
export function failCalls(count: number, name = 'mcp__issues__find'): readonly Turn[] {
  return Array.from({ length: count }, (_, at) => ({
    ...{ id: `fail_${at}`, name, input: { number: at * 31 }, failed: true },
    output: failures[at % failures.length]!,
  }));
}
