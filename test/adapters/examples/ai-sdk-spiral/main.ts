/** An agent of the AI SDK asks for a search that is down, again and again, until its run is ended with an answer. */

import assert from 'node:assert/strict';
import { generateText, isStepCount, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/ai-sdk';
import { z } from 'zod';

let searches = 0;
const search = tool({
  description: 'Searches the web.',
  inputSchema: z.object({ query: z.string() }),
  execute: async ({ query }): Promise<string> => {
    searches++;
    throw new Error(`no answer to ${query}`);
  },
});

/** Stands in for a model that never gives up. */
const model = new MockLanguageModelV4({
  doGenerate: async () => ({
    content: [{ type: 'tool-call', toolCallId: `call-${searches}`, toolName: 'search', input: '{"query":"tides"}' }],
    finishReason: { unified: 'tool-calls', raw: undefined },
    usage: {
      inputTokens: { total: 900, noCache: 900, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 20, text: 20, reasoning: 0 },
    },
    warnings: [],
  }),
});

const gear = createSwitchgear({ agent: 'Researcher', log: 'silent' });
const guarded = protect({ model, tools: { search } }, { gear });
const { text } = await generateText({ ...guarded, prompt: 'When is high tide?', stopWhen: isStepCount(60) });

console.log(`searched ${searches} times, asked the model ${model.doGenerateCalls.length} times`);
console.log(text);

assert.equal(searches, 5);
assert.equal(model.doGenerateCalls.length, 9);
assert.equal(guarded.halt?.code, 'tool_loop');
