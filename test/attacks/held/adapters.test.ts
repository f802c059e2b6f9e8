/** Adapters that need no framework, with odd arguments, results and servers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protect as protectFetch } from '../../../src/adapters/fetch.ts';
import { protect as protectFunctions } from '../../../src/adapters/functions.ts';
import { protect as protectClient } from '../../../src/adapters/mcp-client.ts';
import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import { byForm, holdAll } from './attempts.ts';
import { oddValues } from './odd-values.ts';

const gearOf = () => createSwitchgear({ agent: 'A', log: 'silent', env: {} });
const limits = { maxToolCalls: 3 };

test('held: protected functions hand odd values on, and hold their limit', async (context) => {
  await holdAll(
    context,
    oddValues,
    async (make) => {
      const gear = gearOf();
      const value = make();
      let ran = 0;
      const { echo } = protectFunctions({ echo: async (given: unknown) => [given, ++ran] }, { gear });
      const result = await gear.task({ limits }, async () => {
        const [same] = await echo(value);
        assert.ok(Object.is(same, value), 'the value was changed');
        for (let at = 0; at < 10; at++) await echo({ at }).catch((error: unknown) => assert.ok(refusalOf(error)));
      });
      assert.deepEqual([ran, result.status], [3, 'halted']);
    },
    byForm(oddValues.length, 15),
  );
});

test('held: a protected MCP client counts odd results, and refuses after five failures', async (context) => {
  await holdAll(
    context,
    oddValues.filter(([name]) => !name.includes('sparse')),
    async (make, name) => {
      const gear = gearOf();
      const value = make();
      let ran = 0;
      const client = protectClient(
        {
          callTool: async (_params: { name: string; arguments?: unknown }): Promise<unknown> => {
            ran++;
            return { isError: true, content: [{ type: 'text', text: value }], structuredContent: value, _meta: value };
          },
          getServerVersion: () => ({ name: 'odd' }),
        },
        { gear },
      );
      for (let at = 0; at < 8; at++) {
        const answer = (await client.callTool({ name: 'tool', arguments: { value, at } })) as { isError?: unknown };
        assert.equal(answer.isError, true);
      }
      assert.equal(ran, 5, name);
    },
    byForm(oddValues.length, 15),
  );
});

test('held: a protected fetch passes odd answers on, and stops a server that keeps failing', async (context) => {
  const bodies: readonly (readonly [string, () => Response])[] = [
    ['an empty body', () => new Response(null, { status: 500 })],
    ['no JSON', () => new Response('<html>', { status: 502, headers: { 'content-type': 'application/json' } })],
    ['odd usage', () => new Response('{"usage":{"input_tokens":-1e300,"output_tokens":"x"}}', { status: 500 })],
    [
      'a stream that breaks',
      () => new Response(new ReadableStream({ start: (control) => control.error(new Error('cut')) }), { status: 503 }),
    ],
    ['a Retry-After that is none', () => new Response('', { status: 429, headers: { 'retry-after': '1e999' } })],
    ['__proto__', () => new Response('{"__proto__":{"error":null}}', { status: 500 })],
  ];
  await holdAll(context, bodies, async (answer) => {
    const gear = gearOf();
    let ran = 0;
    const guarded = protectFetch(
      async (_url: string, _options?: RequestInit): Promise<Response> => {
        ran++;
        return answer();
      },
      { gear },
    );
    const url = 'https://api.anthropic.com/v1/messages';
    const body = JSON.stringify({
      model: 'claude-sonnet-4',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'hi' }],
    });
    for (let at = 0; at < 12; at++) {
      const response = await guarded(url, { method: 'POST', body }).catch((error: Error) => error);
      assert.ok(response instanceof Response || response instanceof Error);
      if (response instanceof Response) await response.text().catch(() => {});
    }
    assert.ok(ran < 12, `all ${ran} requests reached a server that fails`);
  });
});
