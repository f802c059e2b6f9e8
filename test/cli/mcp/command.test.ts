/** `switchgear mcp` in front of a real server process: what passes, what is judged, how both ends end. */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test as plainTest } from 'node:test';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import {
  createPlace,
  isRunning,
  type ProxyOptions,
  type ProxyPlace,
  ProxyProcess,
  serverFile,
  until,
} from './proxy-process.ts';

const test = (title: string, run: () => Promise<void>) => plainTest(title, { timeout: 60_000 }, run);
const place = createPlace();
after(() => place.clear());
const running = new Set<ProxyProcess>();
after(() => {
  for (const { child } of running) child.kill('SIGKILL');
});

function start(options: ProxyOptions = {}, where = place): ProxyProcess {
  const proxy = new ProxyProcess(where, options);
  running.add(proxy);
  void proxy.exited.then(() => running.delete(proxy));
  return proxy;
}

/** Frames that a transparent proxy passes as they are: each line is sent, and its answer compared. */
const awkward: Readonly<Record<string, string>> = {
  'the handshake with unknown fields': [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","ca',
    'pabilities":{"x":{}},"clientInfo":{"name":"c","version":"1"},"vendor":9007199254740993}}',
  ].join(''),
  'a notification': '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  'a call with an integer above 2^53, unknown fields and odd spaces': [
    '{ "jsonrpc":"2.0" ,"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"n":9',
    '007199254740993,"f":1.0,"e":1e400},"inputResponses":{"a":1},"requestState":"s","_meta":{"p',
    'rogressToken":"p","vendor/x":[1]}} ,"extra":true}',
  ].join(''),
  'a result with anything in it': [
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"raw","arguments":{"line":"',
    '{\\"jsonrpc\\":\\"2.0\\", \\"id\\":\\"@ID@\\",\\"result\\":{\\"resultType\\":\\"complete\\"',
    ',\\"structuredContent\\":[1,{\\"big\\":123456789012345678901234567890}],\\"_meta\\":{\\"a/',
    'b\\":1},\\"content\\":[],\\"vendor\\":1.10},\\"x\\":\\"\\\\u00e9\\"}"}}}',
  ].join(''),
  'a custom method': '{"jsonrpc":"2.0","id":"four","method":"vendor/thing","params":[1,2,3]}',
  'a method written with escapes': '{"jsonrpc":"2.0","id":5,"\\u006dethod":"vendor\\/other"}',
  'members that are written twice': '{"jsonrpc":"2.0","id":6,"method":"a","method":"b","params":{}}',
  'server/discover': '{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{"_meta":{}}}',
  'an id of another kind': '{"jsonrpc":"2.0","id":9007199254740993,"method":"vendor/id"}',
  'a list of messages': '[{"jsonrpc":"2.0","id":8,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]',
  'no JSON': 'this is {no JSON',
  'an empty line': '',
  'a carriage return': '{"jsonrpc":"2.0","id":9,"method":"ping"}\r',
  'a subscription': '{"jsonrpc":"2.0","id":10,"method":"subscriptions/listen","params":{"notifications":{}}}',
  'an answer of the client': '{"jsonrpc":"2.0","id":"srv-1","result":{"action":"accept","content":{}}}',
  'a task': '{"jsonrpc":"2.0","id":11,"method":"tasks/get","params":{"taskId":"t"}}',
  'the last': '{"jsonrpc":"2.0","id":12,"method":"ping"}',
};

test('what a server answers to awkward frames is the same with and without the proxy, byte for byte', async () => {
  const input = Buffer.concat([
    Buffer.from(`${Object.values(awkward).join('\n')}\n`),
    Buffer.from([0xff, 0xfe, 0x22, 0x0a]),
    Buffer.from('{"jsonrpc":"2.0","id":13,"method":"ping","x":"\u2028'),
    Buffer.from([0xc3, 0x28]),
    Buffer.from('"}\n'),
  ]);
  const outputs = await Promise.all(
    [true, false].map(async (isDirect) => {
      const proxy = start({ isDirect });
      // In pieces of odd sizes.
      for (let at = 0; at < input.length; at += 37) proxy.write(input.subarray(at, at + 37));
      await proxy.find(({ id }) => id === 13);
      proxy.end();
      assert.equal(await proxy.exited, 0, proxy.stderr);
      return Buffer.concat(proxy.output).toString('latin1').split('\n').toSorted();
    }),
  );
  assert.ok(outputs[0]!.length > 15);
  assert.deepEqual(outputs[1], outputs[0]);
});

test('the environment of the server is that of the proxy', async () => {
  const secret = { VENDOR_TOKEN: 's3cret value', SWITCHGEAR_TEST: 'kept' };
  const outputs = await Promise.all(
    [true, false].map(async (isDirect) => {
      const proxy = start({ isDirect, env: secret });
      const { content } = await proxy.call('env');
      proxy.end();
      await proxy.exited;
      return JSON.parse(content[0]!.text) as object;
    }),
  );
  assert.deepEqual(outputs[1], outputs[0]);
});

test('a trip is seen by another proxy on the same store', async () => {
  const own = createPlace();
  try {
    const [first, second] = [start({}, own), start({}, own)];
    await Promise.all([first.initialize(), second.initialize()]);
    for (let n = 0; n < 5; n++) assert.match((await first.call('fail', { n })).content[0]!.text, /^failed at/);
    const refused = await second.call('fail', { n: 'second' });
    assert.match(refused.content[0]!.text, /out of order/);
    assert.equal(refused.structuredContent?.circuit_open, true);
    assert.equal(refused.structuredContent?.agent_name, 'tester');
    assert.equal((await second.call('echo')).isError, false);
    assert.equal(ProxyProcess.readLog(own).filter((line) => line === 'call fail').length, 5);
    for (const each of [first, second]) each.end();
    await Promise.all([first.exited, second.exited]);
    const third = start({}, own);
    assert.match((await third.call('fail')).content[0]!.text, /out of order/);
    third.end();
    await third.exited;
  } finally {
    own.clear();
  }
});

test('a server that ignores the end of its input ends with its children when the client is gone', async () => {
  const proxy = start({ server: ['--deaf'] });
  const child = Number((await proxy.call('child')).content[0]!.text);
  const server = Number(/^start (\d+)$/m.exec(ProxyProcess.readLog(place).toReversed().join('\n'))?.[1]);
  assert.ok(isRunning(child) && isRunning(server));
  proxy.end();
  await proxy.exited;
  await until(() => !isRunning(child) && !isRunning(server), 'the end of the server');
});

test('a killed proxy leaves no server behind', async () => {
  const proxy = start({ server: ['--deaf'] });
  const child = Number((await proxy.call('child')).content[0]!.text);
  const server = Number(/^start (\d+)$/m.exec(ProxyProcess.readLog(place).toReversed().join('\n'))?.[1]);
  proxy.send({ jsonrpc: '2.0', id: 99, method: 'tools/call', params: { name: 'hang' } });
  proxy.child.kill('SIGKILL');
  await until(() => !isRunning(child) && !isRunning(server), 'the end of the server');
});

/** The trip of a proxy that is killed during a call is known to the next proxy, and its server ends in time. */
async function killAfterTrip(own: ProxyPlace): Promise<void> {
  const first = start({ server: ['--deaf'] }, own);
  await first.initialize();
  for (let n = 0; n < 5; n++) assert.match((await first.call('fail', { n })).content[0]!.text, /^failed at/);
  first.send({ jsonrpc: '2.0', id: 99, method: 'tools/call', params: { name: 'hang' } });
  await until(() => ProxyProcess.readLog(own).includes('call hang'), 'the call');
  const server = Number(ProxyProcess.readLog(own)[0]?.split(' ')[1]);
  first.child.kill('SIGKILL');
  const killedAt = performance.now();
  await until(() => !isRunning(server), 'the end of the server');
  assert.ok(performance.now() - killedAt < 2_000, 'no server is left after two seconds');
  const second = start({}, own);
  await second.initialize();
  assert.match((await second.call('fail', { n: 'second' })).content[0]!.text, /out of order/);
  second.end();
  await second.exited;
  assert.equal(ProxyProcess.readLog(own).filter((line) => line === 'call fail').length, 5);
}

test('the trip of a proxy that is killed during a call is not lost', async () => {
  const own = createPlace();
  try {
    await killAfterTrip(own);
  } finally {
    own.clear();
  }
});

testWithRedis(
  'the trip of a proxy that is killed during a call is not lost in Redis',
  { timeout: 60_000 },
  async () => {
    const redis = await startRedis();
    const own = { ...createPlace(), store: `${redis.url}?prefix=killed` };
    try {
      await killAfterTrip(own);
    } finally {
      own.clear();
      await redis.stop();
    }
  },
);

test('the exit code is that of the server, and a lost call is answered', async () => {
  const proxy = start({ options: ['--no-restart'] });
  await proxy.initialize();
  const result = await proxy.call('crash');
  assert.equal(result.isError, true);
  assert.match(result.content[0]!.text, /server ended with code 3/);
  assert.equal(await proxy.exited, 3);
});

test('a file that is not a program ends with 126 and the reason', async () => {
  const proxy = new ProxyProcess(place, { options: ['--', serverFile] });
  assert.equal(await proxy.exited, 126);
  assert.match(proxy.stderr, /scripted-server\.ts" cannot be run: the file is not a program, or you may not run it/);
});

test('a command that is not there ends with 127', async () => {
  const proxy = new ProxyProcess(place, { options: ['--', '/nowhere/server'] });
  assert.equal(await proxy.exited, 127);
  assert.match(proxy.stderr, /command not found: "\/nowhere\/server"/);
});

test('a signal ends the server and the proxy', async () => {
  const proxy = start();
  await proxy.initialize();
  proxy.child.kill('SIGTERM');
  assert.equal(await proxy.exited, 143);
});

test('messages of many megabytes pass in both directions, and a call of such a size is refused', async () => {
  const proxy = start();
  await proxy.initialize();
  const { content, isError } = await proxy.call('big', { bytes: 3_000_000, isError: true });
  assert.deepEqual([content[0]!.text.length, isError], [3_000_000, true]);
  const filler = 'y'.repeat(17_000_000);
  proxy.write(`{"jsonrpc":"2.0","id":500,"method":"vendor/large","params":{"filler":"${filler}"}}\n`);
  const passed = await proxy.find(({ id }) => id === 500);
  assert.ok((passed.result as { raw: string }).raw.endsWith(`${filler}"}}`));
  proxy.write(
    `{"jsonrpc":"2.0","id":501,"method":"tools/call","params":{"name":"ok","arguments":{"x":"${filler}"}}}\n`,
  );
  const refused = await proxy.find(({ id }) => id === 501);
  assert.match(JSON.stringify(refused), /too long to be judged/);
  proxy.end();
  assert.equal(await proxy.exited, 0);
});

test('a policy that is wrong refuses calls, and says so', async () => {
  const own = createPlace('[circuit_breaker]\nfailure_threshold = -2\n');
  try {
    const proxy = start({ options: ['--policy', 'policy.toml'] }, own);
    await proxy.initialize();
    const result = await proxy.call('echo');
    assert.equal(result.isError, true);
    assert.match(result.content[0]!.text, /cannot judge calls/);
    assert.match(proxy.stderr, /failure_threshold must be/);
    proxy.end();
    await proxy.exited;
    assert.ok(!ProxyProcess.readLog(own).includes('call echo'));
  } finally {
    own.clear();
  }
});

test('a policy that is mended and a store that opens at last end the refusals of a session', async () => {
  const own = createPlace('[circuit_breaker]\nfailure_threshold = -2\n');
  try {
    const folder = join(own.folder, 'folder');
    writeFileSync(folder, 'no folder');
    const proxy = start(
      { options: ['--policy', 'policy.toml'] },
      { ...own, store: `sqlite:${join(folder, 'state.db')}` },
    );
    await proxy.initialize();
    assert.match((await proxy.call('echo')).content[0]!.text, /cannot judge calls/);
    rmSync(folder);
    for (let n = 0; n < 2; n++) assert.match((await proxy.call('echo')).content[0]!.text, /cannot judge calls/);
    assert.match(JSON.stringify(await proxy.request('tools/list')), /cannot judge calls/);
    assert.equal(proxy.stderr.match(/calls are refused: the store .* cannot be opened/g)?.length, 1, proxy.stderr);
    assert.equal(proxy.stderr.match(/calls are refused: \S+failure_threshold must be/g)?.length, 1, proxy.stderr);
    writeFileSync(join(own.folder, 'policy.toml'), '[circuit_breaker]\nfailure_threshold = 2\n');
    assert.match(JSON.stringify(await proxy.request('tools/list')), /"read_doc"/);
    for (let n = 0; n < 2; n++) assert.match((await proxy.call('fail', { n })).content[0]!.text, /^failed at/);
    assert.match((await proxy.call('fail', { n: 'third' })).content[0]!.text, /out of order/);
    proxy.end();
    assert.equal(await proxy.exited, 0);
  } finally {
    own.clear();
  }
});

test('a server that crashed is started again with the handshake of the client, which sees nothing of it', async () => {
  const own = createPlace();
  try {
    const proxy = start({}, own);
    await proxy.initialize();
    const lost = await proxy.call('crash');
    assert.match(lost.content[0]!.text, /server ended with code 3/);
    const next = await proxy.call('echo', { after: true });
    assert.match(next.content[0]!.text, /"after":true/);
    assert.equal((await proxy.request('vendor/ask')).error, undefined);
    const log = ProxyProcess.readLog(own);
    assert.equal(log.filter((line) => line.startsWith('start')).length, 2);
    assert.equal(log.filter((line) => line === 'initialize').length, 2);
    assert.equal(proxy.frames.filter(({ id }) => id === 1).length, 1, 'one answer to one handshake');
    proxy.end();
    assert.equal(await proxy.exited, 0);
  } finally {
    own.clear();
  }
});

test('a server that was killed during a call is started again, and the call is answered', async () => {
  const own = createPlace();
  try {
    const proxy = start({}, own);
    await proxy.initialize();
    const pid = Number(ProxyProcess.readLog(own)[0]?.split(' ')[1]);
    const hanging = proxy.call('hang');
    await until(() => ProxyProcess.readLog(own).includes('call hang'), 'the call');
    process.kill(pid, 'SIGKILL');
    assert.match((await hanging).content[0]!.text, /server ended by SIGKILL/);
    assert.equal((await proxy.call('echo')).isError, false);
    proxy.end();
    await proxy.exited;
  } finally {
    own.clear();
  }
});

test('a server that ends before it answered is not started again', async () => {
  const proxy = start({ server: ['--exit-at-once'] });
  assert.equal(await proxy.exited, 4);
});

testWithRedis('two proxies on one Redis share the breaker', { timeout: 60_000 }, async () => {
  const redis = await startRedis();
  const own = { ...createPlace(), store: `${redis.url}?prefix=mcp` };
  try {
    const [first, second] = [start({}, own), start({}, own)];
    await Promise.all([first.initialize(), second.initialize()]);
    for (let n = 0; n < 5; n++) assert.match((await first.call('fail', { n })).content[0]!.text, /^failed at/);
    // The news of a trip reach the other process in a moment.
    let refused = await second.call('fail', { n: 'second' });
    for (let n = 0; n < 4 && refused.structuredContent === undefined; n++) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      refused = await second.call('fail', { n: `second ${n}` });
    }
    assert.equal(refused.structuredContent?.circuit_open, true);
    for (const each of [first, second]) each.end();
    await Promise.all([first.exited, second.exited]);
  } finally {
    own.clear();
    await redis.stop();
  }
});
