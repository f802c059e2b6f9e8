/** A rule asks a person before a LangChain agent pays: its graph stops, and after a yes it goes on where it was. */

import assert from 'node:assert/strict';
import { Command, MemorySaver } from '@langchain/langgraph';
import { AIMessage, createAgent, fakeModel, tool } from 'langchain';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/langchain';
import { z } from 'zod';

const gear = createSwitchgear({
  agent: 'Accountant',
  log: 'silent',
  policy: { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm', reason: 'More than $500.' }] },
});

const paid: number[] = [];
const pay = tool(({ amount }) => `paid $${paid.push(amount) && amount}`, {
  name: 'pay',
  schema: z.object({ amount: z.number() }),
});

const wants = (amount: number) =>
  new AIMessage({ tool_calls: [{ name: 'pay', args: { amount }, id: `pay-${amount}` }] });
const model = fakeModel().respond(wants(120)).respond(wants(750)).respond(new AIMessage('Both are paid.'));

const agent = createAgent(protect({ model, tools: [pay], checkpointer: new MemorySaver() }, { gear }));
const config = { configurable: { thread_id: 'march' } };

const stopped = await agent.invoke({ messages: 'Pay the two bills.' }, config);
const [question] = (stopped as { __interrupt__?: { value: unknown }[] }).__interrupt__ ?? [];
console.log('asked:', JSON.stringify(question?.value));
assert.deepEqual(paid, [120]);

const { messages } = await agent.invoke(new Command({ resume: { decisions: [{ type: 'approve' }] } }), config);
console.log(messages.at(-1)?.text);
assert.deepEqual(paid, [120, 750]);
