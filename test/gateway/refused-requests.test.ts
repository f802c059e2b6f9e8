/** Requests that are refused before a control sees them are in the journal; a gateway that observes lets them pass. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask, openGateway } from './harness.ts';
import { openKeyed } from './keys/keyed-gateway.ts';

type Opened = Pick<Awaited<ReturnType<typeof openGateway>>, 'runtime'>;

/** The refusals in the journal: code, whether they were enforced, and the task that they count for. */
function listRefusals({ runtime }: Opened): readonly unknown[] {
  const refused = runtime.store.tail(0).filter((entry) => entry.type === 'action-refused');
  return refused.map(({ decision: { verdict }, enforced, task }) => [
    'code' in verdict && verdict.code,
    enforced,
    task,
  ]);
}

for (const mode of ['enforce', 'observe'] as const) {
  const isObserving = mode === 'observe';
  const words = isObserving ? 'passes and is written' : 'is refused and written';

  test(`${mode}: a path that cannot be metered ${words}, and counts for no task`, async (context) => {
    const gateway = await openGateway(context, { policy: { mode }, isLimited: true });
    for (let sent = 0; sent < 7; sent++)
      assert.equal((await gateway.post('/task/a/v1/audio/speech', {})).status, isObserving ? 200 : 402);
    assert.deepEqual(listRefusals(gateway), Array(7).fill(['unpriced_path', !isObserving, undefined]));
    assert.equal(gateway.runtime.halted.size, 0, 'refusals of a path end no task');
    assert.equal((await gateway.post('/task/a/v1/messages', ask)).status, 200);
  });

  test(`${mode}: a request beyond the rate of its key ${words}`, async (context) => {
    const gateway = await openKeyed(context, { requestsPerMinute: 2 }, { policy: { mode } });
    const send = async () => (await gateway.post('/v1/messages', ask, { 'x-api-key': gateway.key })).status;
    assert.deepEqual([await send(), await send(), await send()], [200, 200, isObserving ? 200 : 429]);
    assert.deepEqual(listRefusals(gateway), [['rate_limit', !isObserving, undefined]]);
  });
}

test('the models of a key hold in a gateway that observes, too, and the refusal is written', async (context) => {
  const gateway = await openKeyed(context, { models: ['gpt-*'] }, { policy: { mode: 'observe' } });
  const got = await gateway.post('/v1/messages', ask, { 'x-api-key': gateway.key });
  assert.equal(got.status, 403);
  assert.deepEqual(listRefusals(gateway), [['model_not_allowed', true, undefined]]);
});
