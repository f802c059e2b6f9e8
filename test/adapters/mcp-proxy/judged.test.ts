/** What the proxy does in every mix of transports and in both eras, seen by official clients. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Stage, type Transport } from './recordings.ts';
import { type GenerationName, generations, type Session } from './sessions.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchgear-judged-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const policy = `
[mcp]
hide_open_tools = true
[mcp.tools]
deny = ["change"]
[tools.mcp__everything__hang]
timeout_secs = 1
failure_threshold = 2
[[rules]]
condition = "ability:mcp__everything__steps"
action = "confirm"
reason = "a person decides"
`;

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: object;
}

const transports: readonly Transport[] = ['stdio', 'HTTP'];

async function listNames({ client }: Session): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}

async function use(session: Session, isLegacy: boolean): Promise<void> {
  const call = async (tool: string, input = {}) => (await session.call(tool, input)) as Result;
  assert.deepEqual(await listNames(session), ['echo', 'ask', 'steps', 'hang', 'fail'], 'a denied tool is hidden');
  assert.match((await call('change')).content[0]!.text, /policy does not allow/);
  assert.equal((await call('echo', { n: 1 })).isError, undefined);

  assert.equal((await call('steps')).content[0]!.text, 'three steps');
  assert.deepEqual(
    session.seen.filter((word) => word === 'elicitation'),
    ['elicitation'],
    'the person at the client was asked once',
  );

  for (let n = 0; n < 5; n++) assert.equal((await call('fail', { n })).content[0]!.text, 'out of paper');
  const refused = await call('fail', { n: 'sixth' });
  assert.equal(refused.isError, true);
  assert.match(refused.content[0]!.text, /ask the user|check/i);
  const keys = ['error', 'circuit_open', 'agent_name', 'session_id', 'remediation'];
  assert.deepEqual(Object.keys(refused.structuredContent ?? {}), keys);

  for (let n = 0; n < 2; n++) {
    const late = await call('hang', { n }).catch((error: Error) => error.message);
    assert.match(JSON.stringify(late), /took longer than 1 s/);
  }
  const hung = await call('hang', { n: 'third' });
  assert.match(hung.content[0]!.text, /out of order/i);
  assert.deepEqual(await listNames(session), ['echo', 'ask', 'steps'], 'open tools are hidden');
  // Since 2026-07-28 only subscriptions tell of changes.
  if (isLegacy) while (!session.seen.includes('tools changed')) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal((await call('echo', { n: 2 })).isError, undefined);
}

for (const name of ['client 1.x', 'client 2.x', 'client 2.x, 2026-07-28'] as GenerationName[])
  for (const client of transports)
    for (const server of transports)
      test(`${name}, ${client} to ${server}: tools that fail, hang, are denied, hidden or asked about`, {
        timeout: 120_000,
      }, async () => {
        const stage = new Stage(folder, `${name} ${client} ${server}`, policy);
        let session: Session | undefined;
        try {
          const { end } = await stage.start('modern', client, server);
          session = await generations[name].connect(end);
          await use(session, generations[name].program === generations['client 1.x'].program);
        } finally {
          await session?.close();
          await stage.stop();
        }
      });
