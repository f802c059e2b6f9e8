/** Reasoning that a provider does not show is in the estimate of a stream whose client did not ask for usage. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openGateway } from './harness.ts';

interface Script {
  /** Letters of reasoning that the stream shows. */
  readonly thoughts?: string;
  /** Tokens of reasoning. */
  readonly reasoning: number;
}

const words = 'four letters are one token. '.repeat(20);
const shownTokens = words.length / 4;

async function openChat(context: TestContext, { thoughts = '', reasoning }: Script) {
  const gateway = await openGateway(context, {
    answer({ body }, response) {
      const send = (chunk: object) =>
        response.write(`data: ${JSON.stringify({ model: JSON.parse(body).model, ...chunk })}\n\n`);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (thoughts !== '') send({ choices: [{ delta: { reasoning_content: thoughts } }] });
      send({ choices: [{ delta: { content: words } }] });
      send({ choices: [{ delta: {}, finish_reason: 'stop' }] });
      const usage = {
        prompt_tokens: 20,
        completion_tokens: shownTokens + reasoning,
        completion_tokens_details: { reasoning_tokens: reasoning },
      };
      if (body.includes('include_usage')) send({ choices: [], usage });
      response.end('data: [DONE]\n\n');
    },
  });
  /** The tokens that a stream is charged. */
  const stream = async (model: string, more: object = {}) => {
    const before = [...gateway.runtime.tasks.values()][0]?.cells.budget.state.tokens ?? 0;
    const body = { model, stream: true, messages: [{ role: 'user', content: 'hello' }], ...more };
    await (await gateway.post('/task/a/v1/chat/completions', body)).text();
    return gateway.task('gw-a').cells.budget.state.tokens - before;
  };
  return { ...gateway, stream };
}

const withUsage = { stream_options: { include_usage: true } };

test('the first stream of a model that is known to reason is charged for reasoning', async (context) => {
  const { stream } = await openChat(context, { reasoning: 900 });
  for (const model of ['o3', 'o1-mini', 'gpt-5', 'gpt-5-nano-2025-08-07', 'openai/o4-mini']) {
    const tokens = await stream(model);
    assert.ok(tokens >= 900 + shownTokens && tokens < 1_400, `${model}: ${tokens}`);
  }
  for (const model of ['gpt-4o', 'gpt-5-chat-latest', 'olmo', 'claude-sonnet-4']) {
    const tokens = await stream(model);
    assert.ok(tokens < 300, `${model}: ${tokens}`);
  }
});

test('the limit of an answer is the limit of its estimate', async (context) => {
  const { stream } = await openChat(context, { reasoning: 100 });
  const tokens = await stream('o3', { max_completion_tokens: 300 });
  assert.ok(tokens > shownTokens + 100 && tokens < 380, `${tokens}`);
});

for (const model of ['o3', 'thinker-1']) {
  test(`later streams are charged the reasoning that usage has told: ${model}`, async (context) => {
    const { stream } = await openChat(context, { reasoning: 4_000 });
    const exact = await stream(model, withUsage);
    assert.equal(exact, 20 + shownTokens + 4_000);
    for (let at = 0; at < 3; at++) {
      const estimated = await stream(model);
      assert.ok(estimated >= exact && estimated < exact * 1.1, `${estimated} for ${exact}`);
    }
  });
}

test('reasoning that is shown is not charged twice, nor any of a model that does not reason', async (context) => {
  const shown = await openChat(context, { reasoning: 500, thoughts: 'x'.repeat(2_000) });
  const exact = await shown.stream('deepseek-reasoner', withUsage);
  const estimated = await shown.stream('deepseek-reasoner');
  assert.ok(estimated >= exact * 0.95 && estimated < exact * 1.1, `${estimated} for ${exact}`);
  const none = await openChat(context, { reasoning: 0 });
  await none.stream('gpt-5', withUsage);
  assert.ok((await none.stream('gpt-5')) < 300);
});
