/** Type tests of the adapter for the Claude Agent SDK: compiled, never run. */

import { type Query, query, type SDKMessage, type SDKResultMessage } from '@anthropic-ai/claude-agent-sdk';
import type { HaltFacts } from 'switchgear';
import { protect } from 'switchgear/adapters/claude-agent-sdk';
import type { Equal, Expect } from '../equal.ts';

const guarded = protect(query);

/** A guarded query can be used wherever the SDK's own can, also by code that is typed with the SDK. */
export const same: typeof query = guarded;
export const running: Query = guarded({ prompt: 'Go on.', options: { maxTurns: 3 } });

/** The messages keep their types; that of the result also has the halt. */
export async function read() {
  for await (const message of guarded({ prompt: 'Go on.' })) {
    const own: SDKMessage = message;
    if (message.type === 'result') {
      const typed: [Expect<Equal<typeof message.switchgear, HaltFacts | undefined>>] = [true];
      const result: SDKResultMessage = message;
      if (message.subtype === 'success') return [message.result, message.switchgear?.code, result, typed];
    }
    // @ts-expect-error: only the result has it.
    if (message.type === 'assistant') return [message.message.content, message.switchgear, own];
  }
  return [];
}

/** Its other methods are typed as well. */
export const interrupted: ReturnType<Query['interrupt']> = guarded({ prompt: 'Go on.' }).interrupt();

export type Same = [Expect<Equal<Parameters<typeof guarded>, Parameters<typeof query>>>];

// @ts-expect-error: the parameters are those of the SDK.
guarded({ question: 'Go on.' });
