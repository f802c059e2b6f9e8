/** Approvals of the AI SDK that are the user's own, beside what a rule of ours wants confirmed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateText, isStepCount, type ModelMessage, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/ai-sdk';
import { z } from 'zod';
import { makeAnswer } from './harness.ts';

const policy = { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' as const }] };

/** Proposes one payment; how often a person was asked, and what was paid. */
async function pay(amount: number, toolApproval: unknown, isApproved = true): Promise<[asked: number, paid: number]> {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy });
  let paid = 0;
  let turn = 0;
  const turns = [{ calls: [{ tool: 'pay', input: { amount } }] }, { text: 'Done.' }];
  const model = new MockLanguageModelV4({ doGenerate: async () => makeAnswer(turns[turn] ?? {}, ++turn) as never });
  const inputSchema = z.object({ amount: z.number() });
  const tools = { pay: tool({ inputSchema, execute: (input) => (paid += input.amount) }) };
  const call = protect({ model, tools, toolApproval: toolApproval as 'approved' }, { gear }) as never as {
    model: never;
  };
  const messages: ModelMessage[] = [{ role: 'user', content: 'Pay.' }];
  for (let asked = 0; ; asked++) {
    const { content, response } = await generateText({ ...call, messages: [...messages], stopWhen: isStepCount(5) });
    const request = content.filter((part) => part.type === 'tool-approval-request').find((part) => !part.isAutomatic);
    if (request === undefined) return [asked, paid];
    const { approvalId } = request;
    messages.push(...response.messages);
    messages.push({ role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: isApproved }] });
  }
}

const own: Readonly<Record<string, unknown>> = {
  'lets all pass': () => undefined,
  'approves all': () => 'approved',
  'approves this tool': { pay: 'approved' },
  'approves this tool by a function': { pay: () => ({ type: 'approved' }) },
};

for (const [what, toolApproval] of Object.entries(own)) {
  test(`a user-defined toolApproval that ${what} does not bypass a confirm rule`, async () => {
    assert.deepEqual(await pay(750, toolApproval), [1, 750]);
    assert.deepEqual(await pay(750, toolApproval, false), [1, 0]);
    assert.deepEqual(await pay(20, toolApproval), [0, 20]);
  });
}

test('a user-defined toolApproval that denies or asks keeps its effect', async () => {
  assert.deepEqual(await pay(750, () => 'denied'), [0, 0]);
  assert.deepEqual(await pay(20, { pay: 'denied' }), [0, 0]);
  assert.deepEqual(await pay(20, () => 'user-approval'), [1, 20]);
  assert.deepEqual(await pay(750, () => 'user-approval'), [1, 750]);
});
