/** Policy files and variables that somebody leaves in a folder or an environment to disarm Switchgear. */

import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Card } from '../../src/core/card.ts';
import type { Entry } from '../../src/core/event.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { bash } from '../hooks/hook-session.ts';
import { wholeTest } from './held/attempts.ts';

interface Folder {
  readonly path: string;
  write(name: string, text: string): void;
  remove(name: string): void;
  /** Runs the real command in the folder. */
  command(args: readonly string[], env?: Readonly<Record<string, string>>, input?: string): SpawnSyncReturns<string>;
  /** Sends a hook event; returns the decision about it. */
  hook(event: object, env?: Readonly<Record<string, string>>, host?: string): string;
  read<T>(ask: (store: ReturnType<typeof sqliteStore>) => T): T;
  entries(type: Entry['type']): readonly Entry[];
  cards(): readonly Card[];
}

/** A host that runs one hook and ends: this process must not be taken for the host, or it could trust nothing. */
const hostProgram = `
  const { spawnSync } = require('node:child_process');
  process.exitCode = spawnSync(process.execPath, process.argv.slice(1), { stdio: 'inherit' }).status;
`;

function newFolder(context: TestContext): Folder {
  const path = mkdtempSync(join(tmpdir(), 'switchgear-trust-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  const base = {
    ...compiled,
    PATH: process.env.PATH ?? '',
    HOME: path,
    SWITCHGEAR_STORE: `sqlite:${join(path, 'state.db')}`,
  };
  const folder: Folder = {
    path,
    write: (name, text) => writeFileSync(join(path, name), text),
    remove: (name) => rmSync(join(path, name)),
    command: (args, env = {}, input = '') =>
      spawnSync(process.execPath, [bin, ...args], { cwd: path, encoding: 'utf8', env: { ...base, ...env }, input }),
    hook(event, env = {}, host = 'claude-code') {
      const { stdout, stderr, status } = spawnSync(process.execPath, ['-e', hostProgram, bin, 'hook', host], {
        cwd: path,
        encoding: 'utf8',
        env: { ...base, ...env },
        input: JSON.stringify({ session_id: 's-1', cwd: path, ...event }),
      });
      assert.equal(status, 0, stderr);
      if (stdout === '') return 'allow';
      const answer = JSON.parse(stdout) as {
        readonly decision?: string;
        readonly continue?: boolean;
        readonly hookSpecificOutput?: { readonly permissionDecision?: string };
      };
      return (
        answer.hookSpecificOutput?.permissionDecision ??
        answer.decision ??
        (answer.continue === false ? 'halt' : stdout)
      );
    },
    read(ask) {
      const store = sqliteStore({ path: join(path, 'state.db') });
      try {
        return ask(store);
      } finally {
        store.close();
      }
    },
    entries: (type) => folder.read((store) => store.tail(0)).filter((entry) => entry.type === type),
    cards: () => folder.read((store) => store.cards()),
  };
  return folder;
}

const digestOf = (folder: Folder, file = 'switchgear.toml') =>
  /digest: (\w{64})/.exec(folder.command(['policy', 'check', file]).stdout)?.[1] ?? '';

const disarmed = `
mode = "observe"
[task]
max_tool_calls = 100000
[circuit_breaker]
mode = "off"
[loop]
enabled = false
`;

test('attack 04: a policy in a folder that observes does not disarm the hooks of any host', (context) => {
  for (const host of ['claude-code', 'codex']) {
    const folder = newFolder(context);
    folder.write(
      'switchgear.toml',
      `${disarmed}\n[[rules]]\ntarget = "tool:Bash"\ncondition = "ability:Bash"\naction = "abort"\n`,
    );
    assert.equal(folder.hook(bash('c1', 'ls').pre, {}, host), 'deny');
    const [card] = folder.cards().filter(({ id }) => id.startsWith('policy-waits-'));
    assert.match(card?.evidence[0] ?? '', /mode, .*policy trust switchgear\.toml/);
  }
});

test('attack 04: a raised limit of a folder does not hold below run, and run says what waits', (context) => {
  const folder = newFolder(context);
  folder.write(
    'switchgear.toml',
    '[task]\nmax_tool_calls = 100000\nmax_idle_secs = 200\n[delegation]\nmax_failures = 1\n',
  );
  const { stdout, stderr } = folder.command(['run', '--', process.execPath, '-e', '0']);
  assert.equal(stdout, '');
  assert.match(
    stderr,
    /policy: switchgear\.toml, found in this folder, not trusted; task\.max_tool_calls loosens and waits/,
  );
  const [started] = folder.entries('task-started') as readonly {
    readonly limits?: { readonly maxToolCalls: number; readonly maxIdleSecs: number };
  }[];
  assert.equal(started?.limits?.maxToolCalls, 50);
  assert.equal(started?.limits?.maxIdleSecs, 200);
});

test('attack 04: a policy holds whole once a person trusts its content, and waits again after an edit', (context) => {
  const folder = newFolder(context);
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 70\n');
  const explained = () => folder.command(['policy', 'explain']).stdout;
  assert.match(explained(), /max_tool_calls +50 .*waits for trust/);
  assert.match(folder.command(['policy', 'trust']).stdout, /loosens task\.max_tool_calls/);
  assert.match(explained(), /max_tool_calls +70/);
  const state = join(folder.path, '.local', 'state', 'switchgear', 'trusted');
  assert.equal(statSync(state).mode & 0o777, 0o700);
  const [record = ''] = readdirSync(state);
  assert.equal(statSync(join(state, record)).mode & 0o777, 0o600);
  assert.equal(folder.entries('policy-trusted').length, 1);
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 71\n');
  assert.match(explained(), /max_tool_calls +50/);
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 70\n');
  assert.match(explained(), /max_tool_calls +70/);
  chmodSync(join(state, record), 0o666);
  assert.match(explained(), /max_tool_calls +50/, 'a record that others can write does not count');
  chmodSync(join(state, record), 0o600);
  assert.match(folder.command(['policy', 'trust', '--undo']).stdout, /not trusted any more/);
  assert.match(explained(), /max_tool_calls +50/);
});

test('attack 04: a digest in the environment is trust for this content alone', (context) => {
  const folder = newFolder(context);
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 70\n');
  const env = { SWITCHGEAR_TRUST: digestOf(folder) };
  assert.match(
    folder.command(['policy', 'explain'], env).stdout,
    /trusted by SWITCHGEAR_TRUST[\s\S]*max_tool_calls +70/,
  );
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 90\n');
  assert.match(folder.command(['policy', 'explain'], env).stdout, /max_tool_calls +50/);
});

test('attack 04: a given file is taken whole, and run says so', (context) => {
  const folder = newFolder(context);
  folder.write('mine.toml', '[task]\nmax_tool_calls = 70\n');
  const run = ['run', '--', process.execPath, '-e', '0'];
  const given = folder.command(['run', '--policy', 'mine.toml', ...run.slice(1)]);
  assert.match(given.stderr, /policy: mine\.toml, given by --policy; looser than the defaults: task\.max_tool_calls/);
  const variable = folder.command(run, { SWITCHGEAR_POLICY: 'mine.toml' });
  assert.match(variable.stderr, /given by SWITCHGEAR_POLICY; looser than the defaults/);
});

const noShell = '[[rules]]\ntarget = "tool:Bash"\ncondition = "ability:Bash"\naction = "abort"\n';

test('attack 04: a rule that leaves the file during a session stays until the session ends', (context) => {
  for (const change of ['empty', 'gone'] as const) {
    const folder = newFolder(context);
    folder.write('switchgear.toml', noShell);
    assert.equal(folder.hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' }), 'allow');
    if (change === 'gone') folder.remove('switchgear.toml');
    else folder.write('switchgear.toml', '# nothing\n');
    for (const id of ['c1', 'c2']) assert.equal(folder.hook(bash(id, 'ls').pre), 'deny', `${change} ${id}`);
    assert.equal(folder.entries('policy-changed').length, 1, 'one entry');
    const cards = folder.cards().filter(({ id }) => id.startsWith('policy-changed-'));
    assert.equal(cards.length, 1, 'one card');
    assert.match(cards[0]?.evidence[0] ?? '', /rules waits? for the next session/);
    assert.equal(folder.hook({ ...bash('c3', 'ls').pre, session_id: 's-2' }), 'allow', 'the next session');
  }
});

test('attack 04: what a changed file tightens holds at once, and trust given later holds at once', (context) => {
  const folder = newFolder(context);
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 70\n');
  assert.equal(folder.hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' }), 'allow');
  folder.write('switchgear.toml', noShell);
  assert.equal(folder.hook(bash('c1', 'ls').pre), 'deny');
  folder.write('switchgear.toml', '# nothing\n');
  assert.equal(folder.hook({ ...bash('c2', 'ls').pre, session_id: 's-9' }), 'allow', 'another session');
  const { status, stdout, stderr } = folder.command(['policy', 'trust', 'switchgear.toml']);
  assert.equal(status, 0, stdout + stderr);
  assert.equal(folder.hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go on' }), 'allow');
  assert.equal(folder.hook(bash('c3', 'ls').pre), 'allow');
});

wholeTest(
  'attack 04: an earlier trusted content does not loosen a session that began with a stricter one',
  (context) => {
    const folder = newFolder(context);
    folder.write('switchgear.toml', disarmed);
    assert.equal(folder.command(['policy', 'trust']).status, 0);
    folder.write('switchgear.toml', noShell);
    assert.equal(folder.hook({ hook_event_name: 'UserPromptSubmit', prompt: 'go' }), 'allow');
    folder.write('switchgear.toml', disarmed);
    assert.equal(folder.hook(bash('c1', 'ls').pre), 'deny');
  },
);

test('attack 18: a variable that observes is loud in commands, and an entry and a card of a session', (context) => {
  const folder = newFolder(context);
  const env = { SWITCHGEAR_MODE: 'observe' };
  const run = folder.command(['run', '--', process.execPath, '-e', '0'], env);
  assert.match(run.stderr, /warning: SWITCHGEAR_MODE="observe" loosens mode/);
  assert.match(folder.command(['policy', 'explain'], env).stdout, /mode +observe +environment SWITCHGEAR_MODE/);
  for (const id of ['c1', 'c2']) assert.equal(folder.hook(bash(id, 'ls').pre, env), 'allow');
  const loosened = folder.entries('setting-loosened');
  assert.equal(loosened.length, 1);
  assert.equal(folder.cards().filter(({ id }) => id.startsWith('policy-variables-')).length, 1);
});

wholeTest('attack 18: variables that give or trust a looser policy are an entry and a card, and loud', (context) => {
  const folder = newFolder(context);
  folder.write('loose.toml', 'self_protection = false\n');
  const looks = () => [
    folder.entries('setting-loosened').length,
    folder.cards().flatMap(({ id, evidence }) => (id.startsWith('policy-variables-') ? evidence : [])),
  ];
  const given = { SWITCHGEAR_POLICY: 'loose.toml' };
  assert.equal(folder.hook(bash('c1', 'ls').pre, given), 'allow');
  const policyLine = 'SWITCHGEAR_POLICY="loose.toml" loosens self_protection';
  assert.deepEqual(looks(), [1, [policyLine]]);
  const trusting = newFolder(context);
  trusting.write('switchgear.toml', 'mode = "observe"\n');
  const trusted = { SWITCHGEAR_TRUST: digestOf(trusting) };
  assert.equal(trusting.hook(bash('c1', 'ls').pre, trusted), 'allow');
  assert.equal(trusting.entries('setting-loosened').length, 1);
  trusting.write('a.yaml', 'id: a\nname: a\nsteps:\n  - id: go\n    ability: none\n');
  assert.match(
    trusting.command(['chain', 'run', 'a.yaml'], trusted).stderr,
    /warning: SWITCHGEAR_TRUST=".*" loosens mode/,
  );
});

test('attack 18: a variable that allows shells in chains is loud', (context) => {
  const folder = newFolder(context);
  folder.write(
    'a.yaml',
    'id: a\nname: a\nsteps:\n  - id: go\n    ability: shell.execute\n    args: { command: "true" }\n',
  );
  const { stderr } = folder.command(['chain', 'run', 'a.yaml'], { SWITCHGEAR_ABILITIES_SHELL: 'true' });
  assert.match(stderr, /warning: SWITCHGEAR_ABILITIES_SHELL=true loosens abilities\.shell/);
});

/** Runs a shell command as the agent of a run. */
const runAsAgent = (folder: Folder, script: string, env: Readonly<Record<string, string>> = {}) =>
  folder.command(['run', '--raw', '--quiet', '--', '/bin/sh', '-c', script], env);
const self = `'${process.execPath}' '${bin}'`;

test('attack 04: an agent below run trusts no policy, and its variables give and trust none', (context) => {
  const folder = newFolder(context);
  folder.write('switchgear.toml', '[task]\nmax_tool_calls = 70\n');
  const digest = digestOf(folder);
  const trust = runAsAgent(folder, `${self} policy trust`);
  assert.notEqual(trust.status, 0);
  assert.match(trust.stderr, /refused/);
  assert.match(folder.command(['policy', 'explain']).stdout, /max_tool_calls +50/);
  for (const variable of [`SWITCHGEAR_TRUST=${digest}`, 'SWITCHGEAR_POLICY=switchgear.toml']) {
    const { stdout, stderr } = runAsAgent(folder, `${variable} ${self} policy explain`);
    assert.match(stdout, /max_tool_calls +50/, variable);
    assert.match(stderr, /is ignored: this process is below an agent/);
  }
});

test('attack 18: a variable that an agent below run sets loosens nothing', (context) => {
  const folder = newFolder(context);
  const { stdout, stderr } = runAsAgent(folder, `SWITCHGEAR_MODE=observe ${self} policy explain`);
  assert.match(stdout, /mode +enforce/);
  assert.match(stderr, /SWITCHGEAR_MODE="observe" is ignored: it loosens a setting below an agent/);
  const hook = JSON.stringify({ session_id: 's-1', cwd: folder.path, ...bash('c1', 'ls').pre });
  folder.write('switchgear.toml', noShell);
  folder.write('event.json', hook);
  const answered = runAsAgent(folder, `SWITCHGEAR_MODE=observe ${self} hook claude-code < event.json`);
  assert.match(answered.stdout, /"permissionDecision":"deny"/);
});

wholeTest('attack 18: a variable that an agent below run sets loosens no chain', (context) => {
  const folder = newFolder(context);
  folder.write(
    'given.toml',
    '[abilities]\nshell = true\n\n[[rules]]\ncondition = "ability:shell.*"\naction = "abort"\n',
  );
  folder.write(
    'a.yaml',
    'id: a\nname: a\nsteps:\n  - id: go\n    ability: shell.execute\n    args: { command: "echo ran > ran" }\n',
  );
  const script = `SWITCHGEAR_MODE=observe ${self} chain run --policy given.toml a.yaml; cat ran`;
  const { stdout, stderr } = runAsAgent(folder, script);
  assert.match(stderr, /SWITCHGEAR_MODE="observe" is ignored/);
  assert.match(stdout, /Stopped: ability shell\.execute/, stdout + stderr);
  assert.doesNotMatch(stdout, /^ran$/m, stdout + stderr);
});

test('a variable that the operator gave to run holds in the hooks below it, too', (context) => {
  const folder = newFolder(context);
  folder.write('switchgear.toml', noShell);
  folder.write('event.json', JSON.stringify({ session_id: 's-1', cwd: folder.path, ...bash('c1', 'ls').pre }));
  const env = { SWITCHGEAR_MODE: 'observe' };
  const { stdout, stderr } = runAsAgent(folder, `${self} hook claude-code < event.json`, env);
  assert.equal(stdout, '', stderr);
});
