/** Attacks on a run whose store is a Redis server: its password, its command line, and cards that are not true. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createTestHome } from '../cli/run/run-cli.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { startRedis, testWithRedis } from '../redis-server.ts';

const home = createTestHome();
after(() => home.clear());
const long = { timeout: 120_000 };
const secret = 'PW-59561';

testWithRedis(
  'attack 30: a short run on Redis is not lost, and its command line is gone when it ends',
  long,
  async () => {
    const server = await startRedis();
    try {
      const env = { SWITCHGEAR_STORE: server.url };
      for (let run = 0; run < 6; run++) {
        const { code, err } = await home.run(['run', '--', 'sh', '-c', `echo ${secret}`], env);
        assert.deepEqual([code, err], [0, '']);
      }
      const { out } = await home.run(['inbox', '--json'], env);
      assert.deepEqual(JSON.parse(out), []);
      const { createClient } = await import('redis');
      const client = createClient({ url: server.url });
      await client.connect();
      const texts = await Promise.all(
        (await client.keys('*')).map(async (key) =>
          (await client.type(key)) === 'hash' ? Object.values(await client.hGetAll(key)).join('\n') : '',
        ),
      );
      await client.close();
      assert.equal(texts.join('\n').includes(secret), false, 'the prompt stays in the store');
    } finally {
      await server.stop();
    }
  },
);

testWithRedis(
  'attack 34: the password of the store does not reach the agent, and hooks below it find the store',
  long,
  async () => {
    const server = await startRedis(['--requirepass', secret]);
    const url = `redis://:${secret}@127.0.0.1:${server.port}/0?prefix=acme`;
    try {
      const payload = JSON.stringify({
        session_id: 's1',
        hook_event_name: 'PreToolUse',
        tool_name: 'Bash',
        tool_input: { command: 'ls' },
        tool_use_id: 'c1',
        cwd: home.folder,
      });
      const script = `env; echo '${payload}' | "${process.execPath}" "${bin}" hook claude-code; echo hook=$?`;
      for (const [args, env] of [
        [[], { SWITCHGEAR_STORE: url }],
        [['--store', url], {}],
        [[`--store=${url}`], {}],
      ] as const) {
        const { code, out, err } = await home.run(['run', ...args, '--', 'sh', '-c', script], env);
        assert.equal(code, 0, err);
        assert.equal(out.includes(secret), false, out);
        assert.match(out, /SWITCHGEAR_STORE=redis:\/\/127\.0\.0\.1:\d+\/0\?prefix=acme&password_file=/);
        assert.match(out, /hook=0/);
        assert.doesNotMatch(out, /could not decide/);
        assert.deepEqual(readdirSync(join(home.folder, '.local/state/switchgear/passwords')), []);
      }
    } finally {
      await server.stop();
    }
  },
);

test('attack 34: no error quotes a password that stands in the wrong place of an address', long, async () => {
  const places = [
    `redis:/user:${secret}@x`,
    `redis:user:${secret}@x`,
    `redis://127.0.0.1:1/${secret}`,
    `redis://user:${secret}`,
    `redis://127.0.0.1:1?${secret}`,
    `redis://127.0.0.1:1?prefix=${secret}{}`,
    `rediss://user:${secret}@`,
    `valkey://user:${secret}@host`,
    `user:${secret}@host`,
    `redis://127.0.0.1:1?password_file=${secret}`,
  ];
  for (const place of places) {
    for (const command of [['status'], ['run', '--', 'true']]) {
      const { code, out, err } = await home.run(command, { SWITCHGEAR_STORE: place });
      assert.equal(code, 2, place);
      assert.equal((out + err).includes(secret), false, err);
    }
  }
});
