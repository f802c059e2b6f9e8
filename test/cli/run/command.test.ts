/** `switchgear run` with agents that follow a script: what is stopped, what is left alone, and how it ends. */

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { named, sleeper } from '../../supervisor/processes.ts';
import { agentNode, createTestHome, type FinishedProcess } from './run-cli.ts';

const home = createTestHome();
after(() => home.clear());

const long = { timeout: 120_000 };

const commands: Readonly<Record<string, readonly string[]>> = {
  'claude-code': ['claude', '-p'],
  codex: ['codex', 'exec'],
  gemini: ['gemini', '-p'],
  opencode: ['opencode', 'run'],
};

for (const [agent, words] of Object.entries(commands)) {
  test(`${agent}: a repeated failing call halts the run before the ninth repetition`, long, async () => {
    const { code, out, err } = await home.run(['run', '--', ...words, 'spiral']);
    assert.deepEqual([code, out], [75, '']);
    const [, calls] = new RegExp(`halted ${agent}: .*\\n +calls (\\d+) of 50`).exec(err) ?? [];
    assert.ok(Number(calls) >= 6 && Number(calls) <= 9, err);
    assert.match(err, new RegExp(`the last call was: \\w+ cat missing.yaml \\(seen ${calls} times\\)`));
    assert.match(err, /next: switchgear inbox retry card-/);
  });

  test(`${agent}: eight useful calls cause no halt, and stdout contains only the answer`, long, async () => {
    const { code, out, err } = await home.run(['run', '--', ...words, 'healthy']);
    assert.deepEqual([code, out], [0, 'done after 8 calls\n']);
    assert.equal(err.match(/→ /g)?.length, 8);
    assert.doesNotMatch(err, /switchgear/);
  });
}

test('a run of sixty useful calls halts at the fifty-first call', long, async () => {
  const { code, err } = await home.run(['run', '--quiet', '--', 'claude', '-p', 'calls 60']);
  assert.equal(code, 75);
  assert.match(err, /^switchgear: halted claude-code: tool calls: 51 of 50\n {2}calls 51 of 50 · \$/);
  assert.match(err, /the last call was: Read page-51\.md\n.*may already have run/);
});

test('spend is counted during the run, and usage printed after the signal still counts', long, async () => {
  // A model call costs two dollars, and one more comes in after the signal.
  const { code, err } = await home.run(['run', '--quiet', '--max-spend', '$3', '--', 'claude', '-p', 'spend 1']);
  assert.equal(code, 75);
  assert.match(err, /halted claude-code: spend: \$4\.01 of \$3\.00/);
  const [, spent] = /calls 0 of 50 · \$(\d+\.\d\d) of \$3\.00/.exec(err) ?? [];
  assert.ok(Number(spent) >= 6, err);
});

test('the idle limit ends a silent agent, and an agent that ignores the signal is killed', long, async () => {
  const stubborn = "trap '' TERM INT; echo begun; while :; do sleep 1; done";
  const { code, out, err } = await home.run(['run', '--max-idle', '1s', '--grace', '1s', '--', 'sh', '-c', stubborn]);
  assert.deepEqual([code, out], [75, 'begun\n']);
  assert.match(err, /halted sh: silent for \d s of 1 s\n/);
  assert.match(err, /processes were ended, \d of them by force\n/);
});

test(
  'limits come from the policy file or the environment, and limits on the command line override both',
  long,
  async () => {
    const other = createTestHome();
    try {
      writeFileSync(join(other.folder, 'switchgear.toml'), '[task]\nmax_tool_calls = 7\n');
      const quiet = ['run', '--quiet'];
      const calls = ['--', 'claude', '-p', 'calls 20'];
      const [file, variable, flag] = await Promise.all([
        other.run([...quiet, ...calls]),
        other.run([...quiet, ...calls], { BB_CIRCUIT_BREAKER_TOOL_CAP: '9' }),
        other.run([...quiet, '--max-calls', '5', ...calls], { BB_CIRCUIT_BREAKER_TOOL_CAP: '9' }),
      ]);
      const told = ({ err }: FinishedProcess) => /tool calls: (.*)/.exec(err)?.[1];
      assert.deepEqual([told(file), told(variable), told(flag)], ['8 of 7', '10 of 9', '6 of 5']);
    } finally {
      other.clear();
    }
  },
);

test('an invalid policy is reported before the command starts', long, async () => {
  const other = createTestHome();
  try {
    writeFileSync(join(other.folder, 'switchgear.toml'), '[task]\nmax_tool_cals = 7\n');
    const { code, err, out } = await other.run(['run', '--', 'sh', '-c', 'echo started']);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /max_tool_cals/);
  } finally {
    other.clear();
  }
});

test('an unknown program is read by the mapping of the policy', long, async () => {
  const other = createTestHome();
  try {
    const call =
      '[mappings.node]\nkind = "what"\n[mappings.node.events.call]\nas = "tool_use"\nid = "n"\nname = "tool"\n';
    writeFileSync(join(other.folder, 'switchgear.toml'), `[task]\nmax_tool_calls = 3\n${call}`);
    const line = `JSON.stringify({ what: 'call', n: ++n, tool: 'dig' })`;
    const program = `let n = 0; setInterval(() => console.log(${line}), 20)`;
    const run = ['run', '--quiet', '--policy', 'switchgear.toml', '--', process.execPath, '-e', program];
    const { code, err } = await other.run(run);
    assert.equal(code, 75, err);
    assert.match(err, /halted node: tool calls: 4 of 3/);
  } finally {
    other.clear();
  }
});

test('an invalid mapping is reported before the command starts', long, async () => {
  const other = createTestHome();
  try {
    writeFileSync(join(other.folder, 'mapping.json'), '{ "events": { "call": { "as": "nonsense" } } }');
    const { code, out, err } = await other.run(['run', '--mapping', 'mapping.json', '--', 'echo', 'started']);
    assert.deepEqual([code, out], [1, ''], err);
    assert.match(err, /events\.call\.as must be one of .*, got "nonsense"/);
  } finally {
    other.clear();
  }
});

test('--observe reports the halt that would have happened, and ends nothing', long, async () => {
  const { code, out, err } = await home.run(['run', '--quiet', '--observe', '--', 'claude', '-p', 'calls 60']);
  assert.deepEqual([code, out], [0, 'done after 60 calls\n']);
  assert.match(err, /^switchgear: would halt it: tool calls: 51 of 50\n$/);
});

test('--raw runs the command and passes on its output without changes', long, async () => {
  const before = home.startedCommands().length;
  const { code, out, err } = await home.run(['run', '--raw', '--', 'claude', '-p', 'healthy']);
  assert.deepEqual([code, out, err], [0, 'done after 8 calls\n', '']);
  assert.deepEqual(home.startedCommands().slice(before), [['-p', 'healthy']]);
});

test('an event format requested by the user is read and passed on unchanged', long, async () => {
  const json = ['--output-format', 'stream-json', '--verbose'];
  const { code, out, err } = await home.run(['run', '--quiet', '--', 'claude', '-p', 'calls 60', ...json]);
  assert.equal(code, 75);
  assert.match(out, /^\{"type":"system","subtype":"init","session_id":"session-1"/);
  assert.match(err, /tool calls: 51 of 50/);
});

test('--json prints the entries of the run as JSON, from start to end', long, async () => {
  const { code, out, err } = await home.run(['run', '--json', '--', 'codex', 'exec', 'spiral']);
  assert.equal(code, 75);
  assert.match(err, /halted codex/);
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const of = (kind: string) => lines.filter((line) => line.kind === kind);
  assert.deepEqual(
    of('run').map(({ type }) => type),
    ['run-started', 'run-halted', 'run-ended'],
  );
  const [, halted, ended] = of('run');
  assert.deepEqual([halted?.code, ended?.code], ['tool_loop', 75]);
  assert.ok(of('entry').some(({ type }) => type === 'task-halted'));
  // What comes after the halt is told, too.
  assert.ok(of('event').filter(({ type }) => type === 'tool_use').length >= 6);
});

test('run exits with the code of the command, or of the signal that ended the command', long, async () => {
  const ends = await Promise.all([
    home.run(['run', '--', 'sh', '-c', 'echo to stdout; echo to stderr >&2; exit 42']),
    home.run(['run', '--', 'sh', '-c', 'kill -USR1 $$']),
  ]);
  assert.deepEqual(ends[0], { code: 42, signal: null, out: 'to stdout\n', err: 'to stderr\n' });
  assert.equal(ends[1].code, 128 + 10);
});

test('a missing or non-executable command is reported in one sentence', long, async () => {
  const path = join(home.folder, 'notes.txt');
  writeFileSync(path, 'no program');
  chmodSync(path, 0o644);
  const [missing, text] = await Promise.all([home.run(['run', '--', 'no-such-agent']), home.run(['run', '--', path])]);
  assert.equal(missing.code, 127);
  assert.match(missing.err, /^switchgear: command not found: "no-such-agent"; .+\n$/);
  assert.equal(text.code, 126);
  assert.match(text.err, /^switchgear: ".+notes\.txt" cannot be run: .+\n$/);
});

test(
  'a missing -- or an invalid limit is a usage error, and options after -- are left to the agent',
  long,
  async () => {
    const [none, odd, theirs] = await Promise.all([
      home.run(['run', 'claude']),
      home.run(['run', '--max-spend', 'lots', '--', 'true']),
      home.run(['run', '--', 'sh', '-c', 'echo "$1"', 'sh', '--help']),
    ]);
    assert.deepEqual([none.code, odd.code], [2, 2]);
    assert.match(none.err, /write the command after --/);
    assert.match(odd.err, /--max-spend must be dollars, as in 2\.50, got "lots"/);
    assert.deepEqual([theirs.code, theirs.out], [0, '--help\n']);
  },
);

test('an unusable store is reported, with the option to run without one', long, async () => {
  const path = join(home.folder, 'notes.db');
  writeFileSync(path, 'these are my notes, and no database');
  const [foreign, without] = await Promise.all([
    home.run(['run', '--store', `sqlite:${path}`, '--', 'echo', 'started']),
    home.run(['run', '--store', 'memory', '--', 'echo', 'started']),
  ]);
  assert.deepEqual([foreign.code, foreign.out], [2, '']);
  assert.match(foreign.err, /is not a SQLite database: .+; or run without one: --store memory\n$/);
  assert.deepEqual([without.code, without.out, without.err], [0, 'started\n', '']);
});

test('the environment of the command contains its task and no secret of Switchgear', long, async () => {
  const { out } = await home.run(['run', '--session', 'conversation', '--', 'env']);
  const ours = out.split('\n').filter((line) => line.startsWith('SWITCHGEAR_') && !line.startsWith('SWITCHGEAR_STORE'));
  const plain = (line: string) =>
    line
      .replace(/=t-[\w-]+$/, '=TASK')
      .replace(/MARK_\w+=/, 'MARK=')
      .replace(/=\/.*\/t-[\w-]+\.calls$/, '=FILE');
  assert.deepEqual(ours.map(plain).toSorted(), [
    'SWITCHGEAR_MARK=1',
    'SWITCHGEAR_RUN_CALLS=FILE',
    'SWITCHGEAR_SESSION=conversation',
    'SWITCHGEAR_TASK=TASK',
  ]);
});

test('hooks inside a run get the path of the store file, and never an address with a password', long, async () => {
  const script = 'echo "$SWITCHGEAR_STORE"';
  const { out } = await home.run(['run', '--store', 'sqlite:other.db', '--', 'sh', '-c', script]);
  assert.equal(out, `sqlite:${join(realpathSync(home.folder), 'other.db')}\n`);
  const without = await home.run(['run', '--store', 'memory', '--', 'sh', '-c', script]);
  assert.equal(without.out, `${home.store}\n`);
  const nowhere = await home.run(['run', '--', 'sh', '-c', script], { SWITCHGEAR_STORE: 'memory' });
  assert.equal(nowhere.out, '\n', 'hooks could not share it');
});

test('with --heartbeats the [heartbeat] protocol starts separate tasks, each with its own limits', long, async () => {
  const script = join(home.folder, 'specialists.sh');
  const beats = ['[heartbeat] starting research', 'looking around', '[heartbeat] starting writer', 'writing'];
  const ends = ['[heartbeat] done writer', '[heartbeat] done research'];
  writeFileSync(script, [...beats, ...ends].map((line) => `echo "${line}"`).join('\n'));
  const { code, out } = await home.run(['run', '--json', '--heartbeats', '--', 'sh', script]);
  assert.equal(code, 0);
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const started = lines.filter(({ kind, type }) => kind === 'entry' && type === 'task-started');
  assert.deepEqual(
    started.map(({ task }) => String(task).split('/')[1]),
    [undefined, 'research', 'writer'],
  );
});

test('B38: the halt of a heartbeat task shows its name and its own counters', long, async () => {
  const call = { type: 'tool_use', name: 'scrape' };
  const lines = ['{"type":"assistant","text":"hello"}', '[heartbeat] starting research'];
  for (let n = 0; n < 51; n++) lines.push(JSON.stringify({ ...call, input: { n } }));
  const program = `for (const line of ${JSON.stringify(lines)}) console.log(line)`;
  const { code, err } = await home.run(['run', '--quiet', '--', process.execPath, '-e', program]);
  assert.equal(code, 75);
  assert.match(err, /^switchgear: halted node \(.*research\): tool calls: 51 of 50\n {2}calls 51 of 50 · /);
  const { out } = await home.run(['inbox', 'list', '--json']);
  assert.match(out, /calls 51 of 50 · /);
});

test('with --leave, processes that remain after an agent exits are named and not ended', long, async () => {
  const { command, name } = sleeper();
  const script = `(setsid ${command} >/dev/null 2>&1 &)`;
  const { code, err } = await home.run(['run', '--quiet', '--leave', '--', 'sh', '-c', script]);
  assert.equal(code, 0);
  assert.match(err, /^switchgear: the agent ended and left 1 program running: sleep \(\d+\)\n$/);
  const left = named(name);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  assert.equal(left.length, 1);
});

test('an interactive agent has limits for each request, counted from its session files', long, async () => {
  const talking = fileURLToPath(new URL('./conversational-agent.ts', import.meta.url));
  mkdirSync(join(home.folder, 'talking'));
  const claude = join(home.folder, 'talking', 'claude');
  writeFileSync(claude, `#!/bin/sh\nexec ${agentNode} "${talking}" "$@"\n`);
  chmodSync(claude, 0o755);
  const { code, out, err } = await home.run(['run', '--interactive', '--', claude]);
  assert.deepEqual([code, out], [75, 'both requests are done\n']);
  assert.match(
    err,
    /^switchgear: halted claude-code: the same call of 'Bash' failed 5 times with 'no such file', with no change in/,
  );
  assert.match(err, /the last call was: Bash cat missing\.yaml/);
});
