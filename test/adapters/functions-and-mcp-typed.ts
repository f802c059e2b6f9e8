/** Type tests of the adapters for MCP clients and plain functions: compiled, never run. */

import { Client } from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { protect as protectFunctions } from 'switchgear/adapters/functions';
import { protect } from 'switchgear/adapters/mcp-client';
import type { Equal, Expect } from './equal.ts';

const about = { name: 'host', version: '1.0.0' };
const two = protect(new Client(about));
const one = protect(new ClientOne(about));

const tools = {
  area: (width: number, height: number) => width * height,
  greet: async <T extends string>(name: T) => `Hello ${name}` as const,
};
const guarded = protectFunctions(tools);

class Library {
  readonly name = 'library';
  find<T extends string>(word: T): T {
    return word;
  }
}
const library = protectFunctions(new Library());

export type Same = [
  Expect<Equal<typeof library, Library>>,
  Expect<Equal<typeof two, Client>>,
  Expect<Equal<typeof one, ClientOne>>,
  Expect<Equal<typeof guarded, typeof tools>>,
];

// @ts-expect-error: what has no tools to call is no client.
protect({ name: 'nobody' });
