/** Hook payloads that no host sends: each is answered or refused, and the limits hold afterwards. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { byForm, holdAll } from './attempts.ts';
import { deepText } from './odd-values.ts';

type Payload = Readonly<Record<string, unknown>>;
const call: Payload = {
  session_id: 's-1',
  hook_event_name: 'PreToolUse',
  permission_mode: 'default',
  tool_name: 'Bash',
  tool_input: { command: 'ls' },
  tool_use_id: 'c-1',
  transcript_path: '/nowhere/at/all.jsonl',
  agent_id: 'a-1',
  agent_type: 'Explore',
  cwd: '/tmp',
};
const hosts = ['claude-code', 'codex', 'gemini'] as const;

/** A folder with a store of its own; sends raw text to a hook. */
function hookFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-attack-'));
  const env = {
    HOME: folder,
    SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`,
    SWITCHGEAR_TASK_MAX_TOOL_CALLS: '3',
  };
  const send = async (text: string | Buffer, host: string = 'claude-code') => {
    const out: string[] = [];
    const err: string[] = [];
    const input = Readable.from([Buffer.from(text)]) as unknown as NodeJS.ReadStream;
    const words = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
    const code = await main(['hook', host], { ...words, cwd: folder, env, input });
    return { code, out: out.join('\n'), err: err.join('\n') };
  };
  return { folder, send, clear: () => rmSync(folder, { recursive: true, force: true }) };
}

const odd: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a number', 7],
  ['an object', { toString: 1, __proto__: null }],
  ['a list', [[['x']]]],
  ['an empty text', ''],
  ['half a surrogate', '\ud800'],
  ['controls', '\0\x1b]0;x\x07\n'],
  ['a path', '../../../../etc/passwd'],
  ['a long text', 'x'.repeat(200_000)],
  ['a device', '/dev/zero'],
];
const fields = Object.keys(call);

test('held: odd values in every field are answered, and none ends the hook with a stack trace', async (context) => {
  const attempts = hosts.flatMap((host) =>
    fields.flatMap((field) =>
      odd.map(([name, value]) => [`${host}: ${field} is ${name}`, { host, field, value }] as const),
    ),
  );
  const hook = hookFolder();
  context.after(hook.clear);
  await holdAll(
    context,
    attempts,
    async ({ host, field, value }) => {
      const payload = { ...call, session_id: `s-${Math.random()}`, [field]: value };
      const { out, err } = await hook.send(JSON.stringify(payload), host);
      if (out !== '') assert.doesNotThrow(() => JSON.parse(out), out);
      assert.ok(!/\n\s+at .*:\d+:\d+/.test(err), err);
      assert.ok(out.length + err.length < 20_000, 'a long answer');
    },
    byForm(attempts.length, 24),
  );
});

const raw: readonly (readonly [string, string | Buffer])[] = [
  ['nothing', ''],
  ['blanks', '  \n'],
  ['null', 'null'],
  ['a list', '[]'],
  ['a text', '"PreToolUse"'],
  ['half a JSON', '{"session_id":"s"'],
  ['two JSONs', '{}{}'],
  ['no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
  ['NUL', '\0'.repeat(1_000)],
  ['100,000 levels', deepText(100_000)],
  ['deep input', `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"x","tool_input":${deepText(50_000)}}`],
  [
    '__proto__',
    '{"__proto__":{"hook_event_name":"Stop"},"hook_event_name":"PreToolUse","tool_name":"x","session_id":"p"}',
  ],
  ['an unknown event', '{"hook_event_name":"NoSuchEvent","session_id":"s"}'],
  ['an event of __proto__', '{"hook_event_name":"__proto__","session_id":"s"}'],
];

test('held: input that is no payload is refused or passed over, and crashes nothing', async (context) => {
  const hook = hookFolder();
  context.after(hook.clear);
  await holdAll(context, raw, async (text) => {
    const { code, out, err } = await hook.send(text);
    assert.ok([0, 1, 2].includes(code));
    if (out !== '') assert.doesNotThrow(() => JSON.parse(out));
    assert.ok(!/\n\s+at .*:\d+:\d+/.test(err), err);
  });
});

test('held: after odd payloads of its own session the limit of calls still holds', async (context) => {
  const hook = hookFolder();
  context.after(hook.clear);
  await holdAll(
    context,
    odd.map(([name, value]) => [name, value] as const),
    async (value) => {
      const session_id = `limit-${Math.random()}`;
      let ran = 0;
      for (let at = 0; at < 6; at++) {
        const payload = { ...call, session_id, tool_use_id: `c-${at}`, agent_id: undefined, agent_type: undefined };
        await hook.send(JSON.stringify({ ...payload, hook_event_name: 'PostToolUse', tool_response: value }));
        await hook.send(JSON.stringify({ ...payload, hook_event_name: 'PostToolBatch', tool_calls: value }));
        const { out } = await hook.send(
          JSON.stringify({ ...payload, tool_input: { command: `echo ${at}` }, extra: value }),
        );
        if (!out.includes('"deny"') && !out.includes('"continue":false')) ran++;
      }
      assert.ok(ran <= 3, `${ran} calls on a limit of 3`);
    },
    byForm(odd.length, 2),
  );
});
