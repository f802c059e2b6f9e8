/** Output of an agent that is made to end its supervisor, or to write on the terminal of its operator. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSwitchgear } from '../../src/index.ts';
import { createTestHome } from '../cli/run/run-cli.ts';

const home = createTestHome();
after(() => home.clear());
const long = { timeout: 120_000 };

const brackets = '['.repeat(5_000) + ']'.repeat(5_000);
const simpleCall = (id: string, input: string) => `{"type":"tool_use","id":"${id}","name":"x","input":${input}}`;
const claudeCall = (id: string, input: string) =>
  [
    `{"type":"assistant","message":{"id":"m${id}","content":[{"type":"tool_use","id":"${id}","name":`,
    `"x","input":${input}}]}}`,
  ].join('');

const hostileInputs = [
  '{"command":[{"toString":1}]}',
  '{"command":[{"toString":{"valueOf":1}},null,[{"toString":1}]]}',
  `{"command":${brackets}}`,
  brackets,
  `{"file_path":{"a":${brackets}}}`,
  '{"__proto__":{"toString":1},"constructor":1,"then":1}',
];

/** The output of each CLI with hostile values in every field that a reader converts, and a last healthy call. */
const streams: Readonly<Record<string, readonly string[]>> = {
  other: [...hostileInputs.map((input, at) => simpleCall(`a${at}`, input)), simpleCall('last', '{"command":"ls"}')],
  claude: [
    ...hostileInputs.map((input, at) => claudeCall(`a${at}`, input)),
    [
      '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a0","is_error":true,"',
      `content":${brackets}}]}}`,
    ].join(''),
    [
      '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a1","is_error":true,"',
      'content":{"toString":1}}]}}',
    ].join(''),
    [
      '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a2","content":[{"type',
      '":{"toString":1}}]}]}}',
    ].join(''),
    '{"type":"system","subtype":"api_retry","error":{"toString":1}}',
    '{"type":"result","subtype":"success","terminal_reason":{"toString":1},"result":{"toString":1}}',
    claudeCall('last', '{"command":"ls"}'),
  ],
  codex: [
    [
      '{"type":"item.completed","item":{"id":"i1","type":"mcp_tool_call","server":"s","tool":"t","argu',
      `ments":${brackets},"result":{"structured_content":${brackets}},"status":"failed"}}`,
    ].join(''),
    [
      '{"type":"item.completed","item":{"id":"i2","type":"mcp_tool_call","server":{"toString":1},"tool',
      '":{"toString":1},"arguments":{"command":[{"toString":1}]},"status":"completed"}}',
    ].join(''),
    [
      '{"type":"item.completed","item":{"id":"i3","type":"collab_tool_call","tool":{"toString":1},"age',
      'nts_states":{"a":{"status":{"toString":1}}}}}',
    ].join(''),
    '{"type":"item.completed","item":{"id":"i4","type":"error","message":{"toString":1}}}',
    '{"type":"item.completed","item":{"id":"last","type":"command_execution","command":"ls","exit_code":0}}',
  ],
  gemini: [
    `{"type":"tool_use","tool_id":"g1","tool_name":"x","parameters":${brackets}}`,
    `{"type":"tool_result","tool_id":"g1","status":"error","output":${brackets},"error":{"message":{"toString":1}}}`,
    '{"type":"tool_use","tool_id":"g2","tool_name":"x","parameters":{"command":[{"toString":1}]}}',
    '{"type":"tool_use","tool_id":"last","tool_name":"run_shell_command","parameters":{"command":"ls"}}',
  ],
  opencode: [
    [
      '{"type":"tool_use","sessionID":"s","part":{"callID":"o1","tool":"x","state":{"status":"error","',
      `input":${brackets},"output":${brackets}}}}`,
    ].join(''),
    [
      '{"type":"tool_use","sessionID":"s","part":{"callID":"o2","tool":"x","state":{"status":"complete',
      'd","input":{"command":[{"toString":1}]}}}}',
    ].join(''),
    [
      '{"type":"tool_use","sessionID":"s","part":{"callID":"last","tool":"x","state":{"status":"comple',
      'ted","input":{"command":"ls"}}}}',
    ].join(''),
  ],
};

/** A program by the name of a CLI that prints lines of a file. */
function printer(name: string, lines: readonly string[]): readonly string[] {
  const file = join(home.folder, `${name}.jsonl`);
  writeFileSync(file, `${lines.join('\n')}\n`);
  const program = join(home.folder, name);
  writeFileSync(program, `#!/bin/sh\ncat ${file}\n`, { mode: 0o755 });
  const words: Readonly<Record<string, readonly string[]>> = {
    claude: ['claude', '-p', 'x'],
    codex: ['codex', 'exec', 'x'],
    gemini: ['gemini', '-p', 'x'],
    opencode: ['opencode', 'run', 'x'],
  };
  return words[name] ?? ['sh', program];
}

for (const [cli, lines] of Object.entries(streams)) {
  const words = () => printer(cli, lines);

  test(
    `attack 06: hostile values in the output of ${cli} do not end the supervisor, and every call counts`,
    long,
    async () => {
      const { code, err } = await home.run(['run', '--', ...words()]);
      assert.equal(code, 0, err);
      assert.doesNotMatch(err, /TypeError|RangeError|at .*\.ts:\d+/);
      const limited = await home.run(['run', '--max-calls', '1', '--', ...words()]);
      assert.equal(limited.code, 75, limited.err);
      assert.match(limited.err, /tool calls: \d of 1/);
    },
  );

  test(`attack 06: hostile values in the output of ${cli} leave every line of --json readable`, long, async () => {
    const { code, out, err } = await home.run(['run', '--json', '--', ...words()]);
    assert.equal(code, 0, err);
    const events = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly kind: string; readonly type: string; readonly id?: string });
    assert.ok(events.some(({ kind, type, id }) => kind === 'event' && type === 'tool_use' && id === 'last'));
    assert.deepEqual(
      events.filter(({ type }) => type === 'internal-error'),
      [],
    );
  });
}

test('attack 06: a heartbeat line of four megabytes is read in time', long, async () => {
  const line = `[heartbeat] ${'a'.repeat(4_000_000)}`;
  const { code, err } = await home.run(['run', '--', ...printer('other', [line, `[heartbeat] ${'a '.repeat(1e6)}`])]);
  assert.equal(code, 0, err);
});

/** Whether a text has only line feeds, tabs and printable characters. */
function assertClean(text: string): void {
  assert.doesNotMatch(text.replaceAll(/[\n\t]/g, ''), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
}

const escapes = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e\u2028\nswitchgear: all is well\r';

test('attack 29: names, reasons and errors of a model reach the log as one clean line', async () => {
  const lines: string[] = [];
  const gear = createSwitchgear({ log: (line) => lines.push(line) });
  const failing = gear.guard(`tool${escapes}`, () => {
    throw Object.assign(new Error(`broken${escapes}`), { name: `Bad${escapes}` });
  });
  await gear.task({ agent: `agent${escapes}`, id: `task${escapes}` }, async () => {
    for (let at = 0; at < 12; at++) {
      try {
        failing();
      } catch {
        // The guarded function throws its own error.
      }
    }
    for (let at = 0; at < 4; at++)
      await gear
        .delegate(`worker${escapes}`, () => ({ status: 'error', error: `no${escapes}` }))
        .catch(() => undefined);
  });
  gear.dispose();
  assert.ok(lines.length > 3, lines.join('\n'));
  for (const line of lines) {
    assertClean(line);
    assert.doesNotMatch(line, /^switchgear: all is well/m);
  }
});

test(
  'attack 29: the reason of a failed agent and the name of a halted tool are one clean line of run',
  long,
  async () => {
    const reason = JSON.stringify(`boom${escapes}`);
    const failed = await home.run([
      'run',
      '--',
      ...printer('codex', [`{"type":"turn.failed","error":{"message":${reason}}}`]),
    ]);
    assert.match(failed.err, /says that it failed: boom/);
    assertClean(failed.err);
    assert.doesNotMatch(failed.err, /^switchgear: all is well/m);
    const name = JSON.stringify(`t${escapes}`);
    const calls = Array.from({ length: 12 }, (_, at) => [
      `{"type":"tool_use","id":"c${at}","name":${name},"input":{"command":${name}}}`,
      `{"type":"tool_result","id":"c${at}","ok":false,"output":${name}}`,
    ]).flat();
    const halted = await home.run(['run', '--', ...printer('other', calls)]);
    assert.equal(halted.code, 75, halted.err);
    assertClean(halted.err);
    assert.doesNotMatch(halted.err, /^switchgear: all is well/m);
  },
);

test('attack 29: keys of a hostile policy are clean in errors and in policy explain', long, async () => {
  const file = join(home.folder, 'hostile.toml');
  for (const text of [
    '"a\u009b31m\u202e" = 1\n',
    '[tools."x\u009b2J\u202e\u2028y"]\nfailure_threshold = 3\n',
    'mode = "\u009b31m\u202e"\n',
  ]) {
    writeFileSync(file, text);
    for (const verb of ['check', 'explain']) {
      const { out, err } = await home.run(['policy', verb, file]);
      assert.ok(out + err !== '');
      assertClean(out + err);
    }
  }
});
