/** Session files: what streams hide, read as it is written, and nothing counted twice. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import {
  type AgentCommand,
  type AgentEvent,
  claudeSessionReader,
  codexSessionReader,
  fileTail,
  geminiSessionReader,
  type Reader,
  readerFor,
  readOpencodeExport,
  type SessionWatchOptions,
  sessionWatch,
} from '../../src/agents/index.ts';
import { readers, recording, superviseRun, unpacked } from './recording.ts';

/** Files of subagents are of other runs, in which the model gave the same ids. */
const lines = (name: string) => {
  const text = unpacked(join('sessions', `${name}.gz`)).trimEnd();
  return (name.includes('subagent') ? text.replaceAll('_mock_', '_sub_') : text).split('\n');
};
const read = (reader: Reader, name: string) => lines(name).flatMap((line) => reader.read(line));
const tokensOf = (events: readonly AgentEvent[]) => {
  const last = new Map<string, number>();
  for (const event of events) if (event.type === 'usage') last.set(event.id, event.inputTokens + event.outputTokens);
  return [...last.values()].reduce((sum, tokens) => sum + tokens, 0);
};
const count = (events: readonly AgentEvent[], type: AgentEvent['type']) =>
  new Set(events.flatMap((event) => (event.type === type && 'id' in event ? [event.id] : []))).size;

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'switchgear-sessions-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function put(path: string, ...texts: readonly string[]): void {
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, texts.map((text) => `${text}\n`).join(''));
}

test('every kind of session file has the eight calls of the same task, the one that failed, and all tokens', () => {
  const rows: readonly (readonly [string, readonly AgentEvent[]])[] = [
    ['claude', read(claudeSessionReader(), 'claude-session.jsonl')],
    ['codex', read(codexSessionReader(), 'codex-rollout.jsonl')],
    ['gemini', read(geminiSessionReader(), 'gemini-chat.jsonl')],
    ['opencode', readOpencodeExport(unpacked('sessions/opencode-export.json.gz'))],
  ];
  for (const [name, events] of rows) {
    assert.equal(count(events, 'tool_use'), 8, name);
    assert.equal(tokensOf(events), 117_270, name);
    const failed = new Set(
      events.flatMap((each) => (each.type === 'tool_result' && each.ok === false ? [each.id] : [])),
    );
    assert.equal(failed.size, 1, name);
  }
});

test('a session file without a stream gives the calls and tokens of the run', () => {
  const files = {
    claude: [claudeSessionReader(), 'claude-session.jsonl'],
    codex: [codexSessionReader(), 'codex-rollout.jsonl'],
    gemini: [geminiSessionReader(), 'gemini-chat.jsonl'],
  } as const;
  for (const [name, [reader, file]] of Object.entries(files)) {
    const run = superviseRun(reader);
    run.print(...lines(file));
    const { toolCalls, tokens } = run.task.snapshot();
    assert.deepEqual([toolCalls, tokens, run.accounting.halt], [8, 117_270, undefined], name);
  }
});

test('a run read from both stream and session file counts 8 calls once, with the tokens of the file', () => {
  const rows = [
    ['claude-code', claudeSessionReader({ besideStream: true }), 'claude-session.jsonl'],
    ['codex', codexSessionReader({ besideStream: true }), 'codex-rollout.jsonl'],
    ['gemini', geminiSessionReader({ besideStream: true }), 'gemini-chat.jsonl'],
  ] as const;
  for (const order of ['stream first', 'file first']) {
    for (const [cli, reader, file] of rows) {
      const run = superviseRun(readers[cli]());
      const stream = () => run.print(...recording(cli, 'healthy').lines.map(({ line }) => line));
      const session = () => run.account(...read(reader, file));
      for (const account of order === 'stream first' ? [stream, session] : [session, stream]) account();
      const { toolCalls, tokens } = run.task.snapshot();
      assert.deepEqual([toolCalls, tokens, run.accounting.halt], [8, 117_270, undefined], `${cli}, ${order}`);
      assert.equal(run.entries.filter(({ type }) => type === 'text-observed').length, 4, `${cli}, ${order}`);
    }
  }
});

test('gemini: the output of a shell is the same in the stream and in the session file', () => {
  const printed = (events: readonly AgentEvent[]) =>
    new Map(events.flatMap((each) => (each.type === 'tool_result' && each.output ? [[each.id, each.output]] : [])));
  const reader = readers.gemini();
  const stream = printed(recording('gemini', 'healthy').lines.flatMap(({ line }) => reader.read(line)));
  const file = printed(read(geminiSessionReader({ besideStream: true }), 'gemini-chat.jsonl'));
  const shells = [...stream].filter(([id]) => id.startsWith('run_shell_command'));
  assert.ok(shells.length >= 3);
  for (const [id, output] of shells) assert.equal(file.get(id), output);
});

test('claude-code: with the session file a run halts within one call of the spend limit', () => {
  const limit = 5;
  const run = superviseRun(claudeSessionReader({ besideStream: true }), { task: { max_spend_cents: limit } });
  run.print(...lines('claude-session.jsonl'));
  assert.equal(run.accounting.halt?.code, 'token_spend_limit');
  const spendCents = run.task.snapshot().spendUsd * 100;
  assert.ok(spendCents > limit && spendCents < limit + 1.5, `${spendCents} cents`);
});

test('the rollout of a Codex subagent counts for the subagent with that thread id', () => {
  const run = superviseRun(codexSessionReader({ besideStream: true }));
  run.print(...lines('codex-rollout-subagent.jsonl'));
  const [subagent] = run.accounting.subagents;
  assert.equal(subagent?.id, 'run/01a1dd4e-fc8d-76e2-a723-ed3cb14e0478');
  assert.equal(subagent?.snapshot().toolCalls, 3);
  assert.equal(subagent?.snapshot().tokens, 45_720);
  assert.equal(run.task.snapshot().toolCalls, 0);
  assert.deepEqual(
    run.entries.flatMap((entry) => (entry.type === 'delegation-returned' ? [entry.failed] : [])),
    [false],
  );
});

test('the file of a Claude Code subagent counts for the subagent with that id', () => {
  const run = superviseRun(claudeSessionReader());
  run.account({ type: 'subagent_started', id: 'aea2dd7179f659a79', name: 'general-purpose' });
  run.print(...lines('claude-subagent.jsonl'));
  const [subagent] = run.accounting.subagents;
  assert.equal(subagent?.snapshot().toolCalls, 3);
  assert.equal(subagent?.snapshot().tokens, 45_720);
});

test('a growing file is followed, incomplete lines wait, and a missing file has no events', (context) => {
  const path = join(folder(context), 'a.jsonl');
  const got: string[] = [];
  const tail = fileTail(path, (line) => got.push(line));
  assert.equal(tail.poll(), false);
  writeFileSync(path, 'one\ntw');
  assert.equal(tail.poll(), true);
  appendFileSync(path, 'o\nthree\n');
  tail.poll();
  tail.poll();
  assert.deepEqual(got, ['one', 'two', 'three']);
});

test('a file that was truncated or replaced is read from its beginning', (context) => {
  const path = join(folder(context), 'a.jsonl');
  const got: string[] = [];
  const tail = fileTail(path, (line) => got.push(line));
  writeFileSync(path, 'one\nhalf a li');
  tail.poll();
  truncateSync(path, 0);
  appendFileSync(path, 'two\n');
  tail.poll();
  writeFileSync(`${path}.new`, 'three, which is longer\n');
  renameSync(`${path}.new`, path);
  tail.poll();
  assert.deepEqual(got, ['one', 'two', 'three, which is longer']);
});

test('a pipe instead of a file does not block, and an endless device is not read', (context) => {
  const path = join(folder(context), 'a.jsonl');
  execFileSync('mkfifo', [path]);
  const take = () => assert.fail('it says nothing');
  assert.equal(fileTail(path, take).poll(), false);
  assert.equal(fileTail('/dev/zero', take).poll(), false);
});

test('with atEnd an existing file is read from its end', (context) => {
  const path = join(folder(context), 'a.jsonl');
  writeFileSync(path, 'old\n');
  const got: string[] = [];
  const tail = fileTail(path, (line) => got.push(line), { atEnd: true });
  tail.poll();
  appendFileSync(path, 'new\n');
  tail.poll();
  assert.deepEqual(got, ['new']);
});

const sinceMs = Date.UTC(2026, 10, 15, 3, 45);

function watch(cli: AgentCommand['cli'], home: string, session: string, more: Partial<SessionWatchOptions> = {}) {
  const made = sessionWatch(cli, { session, cwd: '/workspace', home, env: {}, sinceMs, ...more });
  assert.ok(made !== undefined);
  return made;
}

test('claude-code: session files are found by the session id, and files of subagents when created', (context) => {
  const home = folder(context);
  const session = '71565626-1404-4839-a05a-087586eb7d0e';
  const found = watch('claude-code', home, session);
  assert.deepEqual(found.poll(), []);
  const project = join(home, '.claude/projects/-workspace');
  const [first = '', ...rest] = lines('claude-session.jsonl');
  put(join(project, `${session}.jsonl`), first);
  assert.equal(count(found.poll(), 'tool_use'), 0);
  put(join(project, `${session}.jsonl`), ...rest);
  assert.equal(count(found.poll(), 'tool_use'), 8);
  const below = join(project, session, 'subagents');
  put(join(below, 'agent-aea2dd7179f659a79.meta.json'), JSON.stringify({ agentType: 'Explore' }));
  put(join(below, 'agent-aea2dd7179f659a79.jsonl'), ...lines('claude-subagent.jsonl'));
  const events = found.poll();
  assert.deepEqual(events[0], { type: 'subagent_started', id: 'aea2dd7179f659a79', name: 'Explore' });
  assert.equal(count(events, 'tool_use'), 3);
  assert.deepEqual(found.poll(), []);

  const moved = watch('claude-code', '/nowhere', session, {
    env: { CLAUDE_CONFIG_DIR: join(home, '.claude') },
    cwd: '/x',
  });
  assert.equal(count(moved.poll(), 'tool_use'), 11);
});

test('claude-code: only new events of a resumed session are reported', (context) => {
  const home = folder(context);
  const path = join(home, '.claude/projects/-workspace/s1.jsonl');
  const all = lines('claude-session.jsonl');
  put(path, ...all.slice(0, 30));
  const found = watch('claude-code', home, 's1', { resumed: true });
  assert.deepEqual(found.poll(), []);
  put(path, ...all.slice(30));
  const told = count(found.poll(), 'tool_use');
  assert.ok(told > 0 && told < 8, `${told} calls`);
});

test('codex: the rollouts of a thread and of its subagents are found among unrelated rollouts', (context) => {
  const home = folder(context);
  const day = join(home, '.codex/sessions/2026/11/15');
  const parent = '01a1dd4e-fbbe-7383-97f9-6fb8417fd0fd';
  const child = '01a1dd4e-fc8d-76e2-a723-ed3cb14e0478';
  const stranger = '01a1dd4e-e40a-7272-863a-ee5ef21ddc31';
  const name = (thread: string) => join(day, `rollout-2026-11-15T03-45-03-${thread}.jsonl`);
  const found = watch('codex', home, parent, { besideStream: true });
  assert.deepEqual(found.poll(), []);
  const main = lines('codex-rollout.jsonl').map((line) => line.replaceAll(stranger, parent));
  put(name(parent), ...main);
  put(name(stranger), ...lines('codex-rollout.jsonl'));
  put(name(child), ...lines('codex-rollout-subagent.jsonl'));
  const events = found.poll();
  assert.equal(tokensOf(events), 117_270 + 45_720);
  assert.equal(count(events, 'tool_use'), 3, 'the calls of the main thread are on its stream, with other ids');
  assert.deepEqual(found.poll(), []);
});

test('gemini: the chat file is found by the prefix of the session id, and subagent files below it', (context) => {
  const home = folder(context);
  const session = '480c4ba8-08a7-4bcb-a39f-302db6e62706';
  const chats = join(home, '.gemini/tmp/work/chats');
  const found = watch('gemini', home, session);
  assert.deepEqual(found.poll(), []);
  put(join(chats, 'session-2026-11-15T03-45-480c4ba8.jsonl'), ...lines('gemini-chat.jsonl'));
  put(join(chats, session, 'sub-1.jsonl'), ...lines('gemini-chat.jsonl'));
  const events = found.poll();
  const agents = new Set(events.flatMap((event) => (event.type === 'tool_use' ? [event.agent] : [])));
  assert.deepEqual([...agents], [undefined, 'sub-1']);
  assert.equal(count(events, 'subagent_started'), 1);
});

test('opencode: changed parts are read from the database, also those of child sessions', (context) => {
  const home = folder(context);
  const path = join(home, '.local/share/opencode/opencode.db');
  mkdirSync(dirname(path), { recursive: true });
  const found = watch('opencode', home, 'main', { besideStream: true });
  assert.deepEqual(found.poll(), []);
  const database = new DatabaseSync(path);
  context.after(() => database.close());
  context.after(() => found.close());
  database.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_updated INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT);
    INSERT INTO session VALUES ('main', NULL), ('child', 'main'), ('other', NULL);
    INSERT INTO message VALUES ('m', 'main', 1, '{"role":"assistant","modelID":"gpt-5.5"}'),
      ('c', 'child', 1, '{"role":"assistant","modelID":"gpt-5.5"}'), ('o', 'other', 1, '{}');`);
  const part = database.prepare('INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?)');
  const tool = (status: string, more = {}) =>
    JSON.stringify({ type: 'tool', tool: 'bash', callID: 'c1', state: { status, input: { command: 'x' }, ...more } });
  part.run('p1', 'm', 'main', 10, tool('running'));
  part.run('p9', 'o', 'other', 10, tool('running'));
  const [named, begun, ...more] = found.poll();
  assert.deepEqual(named, { type: 'session', id: 'main', model: 'gpt-5.5' }, 'the stream does not tell the model');
  assert.deepEqual([begun?.type, more], ['tool_use', []], 'a tool at work is seen before it is done');
  assert.deepEqual(found.poll(), []);
  part.run('p1', 'm', 'main', 11, tool('completed', { output: 'no', metadata: { exit: 1 } }));
  const tokens = { input: 5, output: 2, cache: { read: 1, write: 0 } };
  part.run('p2', 'c', 'child', 12, JSON.stringify({ type: 'step-finish', reason: 'stop', tokens, cost: 0 }));
  const events = found.poll();
  assert.deepEqual(
    events.map((event) => [event.type, 'agent' in event ? event.agent : undefined]),
    [
      ['tool_use', undefined],
      ['tool_result', undefined],
      ['usage', 'child'],
    ],
  );
  assert.equal(events[1]?.type === 'tool_result' && events[1].ok, false);
});

test('a database of another schema has no events, and an invalid session id has no files', (context) => {
  const home = folder(context);
  const path = join(home, '.local/share/opencode/opencode.db');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, 'this is no database');
  const found = watch('opencode', home, 'main');
  assert.deepEqual(found.poll(), []);
  found.close();
  for (const session of ['../../x', '', '..', 'a/b', 'a\\b']) {
    assert.equal(sessionWatch('claude-code', { session, cwd: '/', home, env: {}, sinceMs }), undefined, session);
  }
  assert.equal(sessionWatch('other', { session: 's', cwd: '/', home, env: {}, sinceMs }), undefined);
});

test('calls missing from the stream of Codex are read from its rollout', () => {
  const besideStream = read(codexSessionReader({ besideStream: true }), 'codex-rollout-unshown.jsonl');
  const calls = besideStream.flatMap((each) => (each.type === 'tool_use' ? [each.name] : []));
  assert.deepEqual(calls, ['view_image', ...Array.from({ length: 6 }, () => 'frobnicate')]);
  const failed = besideStream.flatMap((each) =>
    each.type === 'tool_result' && each.ok === false ? [each.output] : [],
  );
  assert.deepEqual(
    failed,
    Array.from({ length: 6 }, () => 'unsupported call: frobnicate'),
  );
  const alone = read(codexSessionReader(), 'codex-rollout-unshown.jsonl');
  assert.equal(count(alone, 'tool_use'), 8, 'with the one that the stream shows');
});

test('a total in the stream without a model is priced by the model named in the rollout', () => {
  const run = superviseRun(readerFor(['codex', 'exec', 'go']).reader());
  run.account(...read(codexSessionReader({ besideStream: true }), 'codex-rollout.jsonl'));
  assert.equal(run.accounting.model, 'gpt-5.5');
  run.print('{"type":"turn.completed","usage":{"input_tokens":900000,"output_tokens":900}}');
  assert.ok(run.accounting.spent.inputTokens >= 900_000);
  const unknown = run.entries.filter(({ type }) => type === 'price-unknown');
  assert.deepEqual(unknown, []);
});
