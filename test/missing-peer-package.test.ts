/** What is told where the framework is missing, as it is here: it is installed beside the tests of adapters alone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protect } from '../src/adapters/langchain/index.ts';
import { createSwitchgear } from '../src/guard/create-switchgear.ts';

test('without its package the adapter says which one to install, and nothing runs unguarded', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  gear.breaker('read').hold('not now');
  const { middleware } = protect({ model: {}, middleware: [] as { wrapToolCall?: unknown }[] }, { gear });
  const hook = middleware[0]?.wrapToolCall as (request: object, handler: () => Promise<unknown>) => Promise<unknown>;
  const request = { toolCall: { id: 'a', name: 'read', args: {} }, state: {}, runtime: {} };
  let reached = 0;
  await assert.rejects(
    hook(request, async () => ++reached),
    { code: 'missing_package', message: /npm install @langchain\/core/ },
  );
  assert.equal(reached, 0);
});
