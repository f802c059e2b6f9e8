/** A Mastra agent reads page after page of a book that has no end; at its limit of calls it is stopped, and says so. */

import assert from 'node:assert/strict';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { MockLanguageModelV4 } from 'ai/test';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/mastra';
import { z } from 'zod';
import { makeAnswer } from '../../ai-sdk/harness.ts';

let pages = 0;
const read = createTool({
  id: 'read',
  description: 'Reads a page.',
  inputSchema: z.object({ page: z.number() }),
  execute: async ({ page }) => `page ${page}, and ${++pages} read so far`,
});

let turn = 0;
const model = new MockLanguageModelV4({
  doGenerate: async () => makeAnswer({ calls: [{ tool: 'read', input: { page: turn } }] }, ++turn) as never,
});

const gear = createSwitchgear({ agent: 'Reader', log: 'silent', policy: { task: { max_tool_calls: 10 } } });
const settings = { id: 'reader', name: 'Reader', instructions: 'Read on.', model: model as never, tools: { read } };
const { tripwire } = await new Agent(protect(settings, { gear })).generate('Read the book.', { maxSteps: 60 });

console.log(`${pages} pages, then: ${tripwire?.reason}`);
assert.equal(pages, 10);
assert.match(tripwire?.reason ?? '', /tool calls: 11 of 10/);
