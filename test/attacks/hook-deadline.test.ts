/** Hooks that are kept from deciding: payloads, files and stores that never end or never answer. */

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { collectOutput } from '../harness/child-output.ts';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { bash, type Event, newSession } from '../hooks/hook-session.ts';
import { isWhole } from './held/attempts.ts';

const long = { timeout: 60_000 };
const brackets = '['.repeat(100_000) + ']'.repeat(100_000);

function hookEnvironment(folder: string, store: string) {
  return { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: store };
}

const calls: Readonly<Record<string, Event>> = {
  'claude-code': { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'c1' },
  codex: { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command: 'ls' }, tool_use_id: 'c1' },
  gemini: { hook_event_name: 'BeforeTool', tool_name: 'run_shell_command', tool_input: { command: 'ls' } },
};

for (const [host, call] of Object.entries(calls)) {
  test(
    `attack 27: the hook of ${host} answers deny at its deadline where its store never answers`,
    long,
    async (context) => {
      const { folder, clear } = newSession(host);
      const silent = createServer(() => undefined);
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      context.after(() => {
        silent.close();
        clear();
      });
      const { port } = silent.address() as { readonly port: number };
      const child = spawn(process.execPath, [bin, 'hook', host, '--timeout', '4'], {
        cwd: folder,
        env: hookEnvironment(folder, `redis://127.0.0.1:${port}`),
        stdio: 'pipe',
      });
      const { out, err } = collectOutput(child);
      child.stdin.end(JSON.stringify({ session_id: 's-1', cwd: folder, ...call }));
      const code = await new Promise((resolve) => child.on('close', resolve));
      assert.equal(code, 0, err());
      assert.match(out(), /"(?:permissionDecision|decision)":"deny"/);
    },
  );
}

/** Runs one hook on a payload as text or on an open file. */
function runHook(context: TestContext, host: string, stdin: string | number) {
  const { folder, store, clear } = newSession(host);
  context.after(clear);
  const input = typeof stdin === 'string' ? { input: stdin } : { stdio: [stdin, 'pipe', 'pipe'] as const };
  return spawnSync(process.execPath, [bin, 'hook', host], {
    cwd: folder,
    encoding: 'utf8',
    env: hookEnvironment(folder, store),
    ...(input as object),
  });
}

for (const [host, call] of Object.entries(calls)) {
  test(`attack 27: a stdin that nobody closes blocks the event of ${host} at the deadline`, long, async (context) => {
    const { folder, store, clear } = newSession(host);
    context.after(clear);
    const payload = JSON.stringify({ session_id: 's-1', cwd: folder, ...call });
    // A socket, as Node hosts give it, and a pipe, as shells do; with nothing, a part, and everything written.
    for (const start of ['socket', 'pipe'])
      for (const written of isWhole ? ['', payload.slice(0, 9), payload] : [payload]) {
        const words = [bin, 'hook', host, '--timeout', '4'];
        const script = '(printf %s "$0"; exec sleep 50) | { "$@"; echo "code $?" >&2; kill 0; }';
        const shell = ['-c', script, written, process.execPath, ...words];
        const options = { cwd: folder, env: hookEnvironment(folder, store), stdio: 'pipe', detached: true } as const;
        const child = start === 'socket' ? spawn(process.execPath, words, options) : spawn('/bin/sh', shell, options);
        if (start === 'socket') child.stdin.write(written);
        const { out, err } = collectOutput(child);
        const code = await new Promise((resolve) => child.on('close', resolve));
        const expected = 'switchgear: hook: stdin was not closed within 2 s\n';
        if (start === 'socket') assert.deepEqual([code, out(), err()], [2, '', expected]);
        else assert.deepEqual([out(), err()], ['', `${expected}code 2\n`]);
      }
  });
}

test('attack 27: an endless stdin ends the hook with words and no stack', long, (context) => {
  const { status, stderr } = runHook(context, 'claude-code', openSync('/dev/zero', 'r'));
  // An event without a name may be a call.
  assert.equal(status, 2);
  assert.match(stderr, /^switchgear: hook: the input on stdin is too long\n$/);
});

test('attack 27: a payload of a call that is too long or broken blocks the call', long, (context) => {
  const head = '{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"';
  for (const payload of [`${head}${'x'.repeat(20_000_000)}"}}`, `${head}ls"`]) {
    const { status, stderr } = runHook(context, 'claude-code', payload);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /^switchgear: hook: /);
  }
});

const afterCalls: Readonly<Record<string, string>> = {
  'claude-code': [
    '{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_use_id":"c1","tool_input":{"command":',
    `"ls"},"tool_response":${brackets}}`,
  ].join(''),
  codex: [
    `{"hook_event_name":"PostToolUse","tool_name":"x","tool_use_id":"c1","tool_input":${brackets},"t`,
    `ool_response":{"isError":true,"content":${brackets}}}`,
  ].join(''),
  gemini: [
    `{"hook_event_name":"AfterTool","tool_name":"x","tool_input":${brackets},"tool_response":{"llmCo`,
    `ntent":${brackets},"error":{"message":{"toString":1}}}}`,
  ].join(''),
};

for (const [host, payload] of Object.entries(afterCalls)) {
  test(`attack 06: a result of a hundred thousand levels does not end the hook of ${host}`, long, (context) => {
    const { status, stderr } = runHook(context, host, payload);
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /RangeError|TypeError/);
  });
}

test('attack 27: a pipe or a device as transcript does not keep the hook from answering', long, async (context) => {
  const session = newSession();
  context.after(session.clear);
  const fifo = join(session.folder, 'fifo');
  spawnSync('mkfifo', [fifo]);
  writeFileSync(join(session.folder, 'deep.jsonl'), `{"type":"assistant","message":{"id":"m","usage":${brackets}}}\n`);
  for (const path of [fifo, '/dev/zero', '/dev/stdin', session.folder, join(session.folder, 'deep.jsonl')]) {
    const { code, output } = await session.send({ ...bash('c1', 'ls').pre, transcript_path: path });
    assert.equal(code, 0, path);
    assert.equal(output, undefined, path);
  }
});

const kinds: Readonly<Record<string, (path: string) => void>> = {
  'a pipe': (path) => execFileSync('mkfifo', [path]),
  'a link to a device without end': (path) => symlinkSync('/dev/zero', path),
};

for (const [kind, put] of Object.entries(kinds)) {
  test(
    `attack 27: files of the project, the store and its marker that are ${kind} do not hold a hook`,
    long,
    (context) => {
      const { folder, clear } = newSession('claude-code');
      context.after(clear);
      const state = join(folder, 'state');
      const run = (command: string) => {
        const { hook_event_name, tool_name } = calls['claude-code']!;
        const call = { hook_event_name, tool_name, tool_input: { command }, tool_use_id: `c-${command}` };
        const { stdout, error } = spawnSync(process.execPath, [bin, 'hook', 'claude-code'], {
          ...{
            cwd: folder,
            encoding: 'utf8',
            env: hookEnvironment(folder, `sqlite:${state}/state.db`),
            timeout: 30_000,
          },
          input: JSON.stringify({ session_id: 's-1', cwd: folder, ...call }),
        });
        assert.equal(error, undefined);
        return stdout.includes('"deny"') ? 'deny' : stdout;
      };
      assert.equal(run('ls'), '');
      const replaced: readonly (readonly [string, string, string])[] = [
        ['switchgear.toml', 'ls', 'deny'],
        ['state/state.db', 'ls', 'deny'],
        [`state/${readdirSync(state).find((name) => name.startsWith('.switchgear-'))}`, 'ls', ''],
        ['.git/index', 'git reset --hard', ''],
        ['.gitignore', 'git clean -fd', 'deny'],
        ['package.json', './bin/switchgear status', ''],
      ];
      for (const name of ['.git', 'bin']) mkdirSync(join(folder, name));
      writeFileSync(join(folder, 'bin/switchgear'), '');
      for (const [name, command, answer] of replaced) {
        const path = join(folder, name);
        rmSync(path, { force: true });
        put(path);
        assert.equal(run(command), answer, name);
        rmSync(path);
      }
    },
  );
}
