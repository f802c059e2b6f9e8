/** Which agent a command starts, and what it takes to have it print events, end and go on. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readerFor } from '../../src/agents/index.ts';

const of = (line: string) => readerFor(line.split(' '));

test('an agent is recognised by its program name, also behind a launcher', () => {
  const rows: Readonly<Record<string, string>> = {
    'claude -p x': 'claude-code',
    '/usr/local/bin/claude -p x': 'claude-code',
    'npx -y @anthropic-ai/claude-code@2.1.325 -p x': 'claude-code',
    'env A=1 B=2 claude -p x': 'claude-code',
    'A=1 node node_modules/@anthropic-ai/claude-code/cli.js -p x': 'claude-code',
    'codex exec x': 'codex',
    'npx @openai/codex exec x': 'codex',
    'gemini.cmd -p x': 'gemini',
    'npx @google/gemini-cli -p x': 'gemini',
    'pnpm dlx opencode-ai run x': 'opencode',
    'opencode run x': 'opencode',
    'python agent.py claude': 'other',
    'echo claude': 'other',
    'claude-helper -p x': 'other',
  };
  for (const [line, cli] of Object.entries(rows)) assert.equal(of(line).cli, cli, line);
});

test('the event format option is inserted at the right place if the command has no format option', () => {
  const rows: Readonly<Record<string, string>> = {
    'claude -p x': 'claude --output-format stream-json --verbose --include-partial-messages -p x',
    'claude --verbose -p x': 'claude --output-format stream-json --include-partial-messages --verbose -p x',
    'codex -c a=b exec -m gpt x': 'codex -c a=b exec --json -m gpt x',
    'codex exec resume t-1 x': 'codex exec --json resume t-1 x',
    'gemini -p x -m pro': 'gemini --output-format stream-json -p x -m pro',
    'opencode run x y': 'opencode run --format json x y',
  };
  for (const [line, command] of Object.entries(rows)) {
    const agent = of(line);
    assert.equal(agent.stream, 'asked', line);
    assert.equal(agent.command.join(' '), command);
  }
});

test('a command that has a format option, is interactive or is unknown is not changed', () => {
  const rows: Readonly<Record<string, string>> = {
    'claude -p x --output-format stream-json --verbose': 'events',
    'claude -p x --output-format=stream-json --verbose': 'events',
    'codex exec --json x': 'events',
    'gemini -p x -o stream-json': 'events',
    'opencode run --format json x': 'events',
    'claude -p x --output-format json': 'text',
    'gemini -p x -o json': 'text',
    'opencode run --format default x': 'text',
    claude: 'text',
    'codex fix this': 'text',
    opencode: 'text',
    'my-agent --flag': 'text',
  };
  for (const [line, stream] of Object.entries(rows)) {
    const agent = of(line);
    assert.equal(agent.stream, stream, line);
    assert.equal(agent.command.join(' '), line);
    assert.deepEqual(agent.added, [], line);
  }
});

test('an agent command without its option or subcommand for headless use is interactive', () => {
  const rows: Readonly<Record<string, boolean>> = {
    claude: false,
    'claude fix it': false,
    'claude -p fix': true,
    codex: false,
    'codex exec fix': true,
    'codex e fix': true,
    gemini: false,
    'gemini -i fix': false,
    'gemini -p fix': true,
    opencode: false,
    'opencode run fix': true,
  };
  for (const [line, headless] of Object.entries(rows)) assert.equal(of(line).headless, headless, line);
});

test('the prompt, the model and the session are read from the command line', () => {
  const rows: readonly (readonly [string, readonly (string | undefined)[]])[] = [
    ['claude -p fix --model opus --allowedTools Bash Read', ['fix', 'opus', undefined]],
    ['claude --resume s1 -p more', ['more', undefined, 's1']],
    ['codex exec --cd dir -m gpt fix', ['fix', 'gpt', undefined]],
    ['codex exec resume t1 more', ['more', undefined, 't1']],
    ['gemini --resume g1 --prompt more -m pro', ['more', 'pro', 'g1']],
    ['opencode run -m anthropic/opus -s o1 do this', ['do this', 'opus', 'o1']],
    ['claude -p -- --strange', ['--strange', undefined, undefined]],
  ];
  for (const [line, expected] of rows) {
    const { prompt, model, session } = of(line);
    assert.deepEqual([prompt, model, session], expected, line);
  }
});

test('a session is resumed by the command that started it, with a new prompt', () => {
  const rows: Readonly<Record<string, string | undefined>> = {
    'claude -p old --model opus --allowedTools Bash': 'claude -p NEW --resume S --model opus --allowedTools Bash',
    'claude -c -p old': 'claude -p NEW --resume S',
    'claude --resume s1 -p old': 'claude -p NEW --resume S',
    'codex exec --cd dir old': 'codex exec --cd dir resume S NEW',
    'codex exec resume --last old': 'codex exec resume S NEW',
    'gemini -p old -m pro': 'gemini --resume S -p NEW -m pro',
    'opencode run -m a/b -s s1 old words': 'opencode run --session S -m a/b NEW',
    'my-agent old': undefined,
    codex: undefined,
  };
  for (const [line, expected] of Object.entries(rows))
    assert.equal(of(line).resume('S', 'NEW')?.join(' '), expected, line);
});

test('each agent is ended by the signal on which it shuts down cleanly', () => {
  const rows = { 'claude -p x': 'SIGINT', 'codex exec x': 'SIGINT', 'gemini -p x': 'SIGTERM', 'my-agent': 'SIGTERM' };
  for (const [line, signal] of Object.entries(rows)) assert.equal(of(line).signal, signal, line);
});

test('an unknown program is read by the given mapping', () => {
  const mapping = { events: { said: { as: 'assistant', text: 'words' } } } as const;
  const agent = readerFor(['my-agent'], { mapping });
  assert.equal(agent.stream, 'events');
  assert.deepEqual(agent.reader().read('{"type":"said","words":"hello"}'), [{ type: 'assistant', text: 'hello' }]);
  assert.deepEqual(agent.reader().read('[heartbeat] starting a'), [
    { type: 'subagent_started', id: 'a', isPart: true },
  ]);
});
