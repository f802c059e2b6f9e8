/** Values of tools, servers and models that are made to block the process, or to hide an amount or a repetition. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { mcpAbilities } from '../../src/chains/abilities/mcp/index.ts';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { call } from '../chains/abilities/call-ability.ts';
import { bash, newSession } from '../hooks/hook-session.ts';

const long = { timeout: 60_000 };

/** A server whose schema backtracks for hours on its own result. */
const patternServer = `
const { createInterface } = require('node:readline');
const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
const answers = {
  initialize: ({ protocolVersion }) =>
    ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }),
  'tools/list': () => ({ tools: [{ name: 'slow', inputSchema: { type: 'object' }, outputSchema: schema }] }),
  'tools/call': () => ({ content: [], structuredContent: { a: 'a'.repeat(60) + '!' } }),
};
createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const result = answers[method](params ?? {});
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

test('attack 07: no pattern of an MCP server runs in this process', long, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-pattern-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'server.cjs');
  writeFileSync(file, patternServer);
  const source = mcpAbilities({ mcpServers: { s: { command: process.execPath, args: [file] } } });
  context.after(() => source.close());
  assert.deepEqual(await call(source, 's.slow'), { a: `${'a'.repeat(60)}!` });
});

const amounts = [
  '1,000',
  '$1000',
  [1000],
  '0x3e8',
  '1000 USD',
  '1e400',
  '１０００',
  { value: 1000 },
  null,
  '1_000',
  true,
];

for (const amount of amounts) {
  test(`attack 26: a rule for everybody fires on the amount ${JSON.stringify(amount)}`, async () => {
    const gear = createSwitchgear({ policy: { rules: ['amount>500|abort'] } });
    const pay = gear.guard('pay', (_: object) => 'paid');
    await gear.task({}, () => assert.ok(isRefused(pay({ amount }))));
    await gear.task({}, () => assert.equal(pay({ amount: '400' }), 'paid'));
    await gear.task({}, () => assert.equal(pay({ other: 1 }), 'paid'));
    gear.dispose();
  });
}

const outputs: Readonly<Record<string, unknown>> = {
  'a JSON text over 64 KiB': `{"pad":"${'x'.repeat(100_000)}","status":"leak"}`,
  'a JSON text over 8 MiB': `{"pad":"${'x'.repeat(9_000_000)}","status":"leak"}`,
  'a text block of MCP': { content: [{ type: 'text', text: '{"status":"leak"}' }] },
  'structured content of MCP': { content: [], structuredContent: { status: 'leak' } },
};

for (const [name, output] of Object.entries(outputs)) {
  test(`attack 26: an output rule for everybody looks into ${name}`, async () => {
    const gear = createSwitchgear({ policy: { rules: ['output:status|contains:leak|abort'] } });
    const read = gear.guard('read', () => output);
    const result = await gear.task({}, () => {
      read();
      return read();
    });
    assert.equal(result.status, 'halted');
    gear.dispose();
  });
}

/** A list of 200 times the same list, eight deep: few objects, and more paths than can be walked. */
function sharedParts(): unknown {
  let list: unknown[] = ['x'];
  for (let depth = 0; depth < 8; depth++) list = Array.from({ length: 200 }, () => list);
  return list;
}

function endlessProxy(visit: () => void): object {
  return new Proxy(
    {},
    {
      ownKeys: () => Array.from({ length: 200 }, (_, at) => `k${at}`),
      getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
      get(_, key) {
        visit();
        return typeof key === 'symbol' ? undefined : endlessProxy(visit);
      },
    },
  );
}

test(
  'attack 31: arguments with shared parts, endless proxies and a million keys are observed within bounds',
  long,
  async () => {
    const gear = createSwitchgear();
    let visits = 0;
    const inputs = [
      sharedParts(),
      endlessProxy(() => visits++),
      Object.fromEntries(Array.from({ length: 1_000_000 }, (_, at) => [`k${at}`, at])),
    ];
    const guarded = gear.guard('x', (_: unknown) => 'done');
    await gear.task({}, (task) => {
      task.observe({ type: 'assistant', text: 'I will call the tool with these arguments now.' });
      for (const [at, input] of inputs.entries()) {
        task.observe({ type: 'tool_use', id: `a${at}`, name: 'x', input });
        task.observe({ type: 'tool_result', id: `a${at}`, ok: true, output: input });
        guarded(input);
      }
    });
    assert.ok(visits < 50_000, `${visits} visits`);
    gear.dispose();
  },
);

test('attack 31: an output rule reads a result with shared parts within bounds', long, async () => {
  const gear = createSwitchgear({ policy: { rules: ['output:list|contains:leak|abort'] } });
  await gear.task({}, () => gear.guard('x', () => ({ list: sharedParts() }))());
  gear.dispose();
});

test(
  'attack 32: in hooks, the same command with another comment and the same answer is the same call',
  long,
  async (context) => {
    const session = newSession();
    context.after(session.clear);
    const answer = { stdout: 'The build is still running, nothing has changed since the last look at it.\n'.repeat(8) };
    let stopped = 0;
    for (let at = 0; at < 30 && stopped === 0; at++) {
      const { pre, post } = bash(
        `c${at}`,
        at % 2 === 0 ? `cat build.log # look ${at}` : `cat   build.log  # once more ${at}`,
      );
      const { output } = await session.send(pre);
      if (output?.hookSpecificOutput?.permissionDecision === 'deny' || output?.continue === false) stopped = at;
      else await session.send({ ...post, tool_response: answer });
    }
    assert.ok(stopped > 0 && stopped <= 16, `stopped at ${stopped}`);
  },
);

test('attack 32: a comment sign in quotes or in a word is part of the command', async () => {
  const gear = createSwitchgear();
  const run = gear.guard('Bash', (input: { command: string }) => `made ${input.command.length} pages of the report`);
  const result = await gear.task({ limits: { maxToolCalls: 100 } }, () => {
    for (let at = 0; at < 40; at++) run({ command: `echo "# chapter ${'i'.repeat(at)}" > page#${at}` });
    return 'done';
  });
  assert.equal(result.status, 'done');
  gear.dispose();
});
