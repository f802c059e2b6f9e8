/** Two agents of the OpenAI SDK hand a request back and forth, each sure that it is for the other. */

import assert from 'node:assert/strict';
import { Agent, Runner, setTracingDisabled } from '@openai/agents';
import { functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/openai-agents';

setTracingDisabled(true);

/** A model that always hands over. */
const handsTo = (name: string) =>
  new ScriptedModel(
    Array.from({ length: 100 }, () =>
      modelResponder(({ index }) => [functionCall(`transfer_to_${name}`, {}, { callId: `${name}-${index}` })]),
    ),
  );

const sales: Agent = new Agent({ name: 'Sales', model: handsTo('Support') });
const support = new Agent({ name: 'Support', model: handsTo('Sales'), handoffs: [sales] });
sales.handoffs = [support];

const gear = createSwitchgear({ agent: 'Desk', log: 'silent' });
const runner = protect(new Runner({ tracingDisabled: true }), { gear });
const result = await runner.run(sales, 'My order has not come.', { maxTurns: 100 });

console.log(`${result.rawResponses.length} turns, then: ${result.finalOutput}`);
assert.ok(result.rawResponses.length < 60);
assert.match(String(result.finalOutput), /Task stopped/);
