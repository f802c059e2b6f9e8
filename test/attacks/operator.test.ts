/** Commands that decide, called by the agent that they are about, and by operators in various places. */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { userName } from '../../src/approvers/user-name.ts';
import type { Card } from '../../src/core/card.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { createTestHome, type TestHome } from '../cli/run/run-cli.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { wholeTest } from './held/attempts.ts';

const homes: TestHome[] = [];
after(() => {
  for (const { clear } of homes) clear();
});

function home(): TestHome {
  const created = createTestHome();
  homes.push(created);
  return created;
}

const command = `'${process.execPath}' '${bin}'`;

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1_200 && !(await isTrue()); tries++) await sleep(50);
  assert.ok(await isTrue(), 'it happened in time');
}

function open<T>({ store }: TestHome, use: (opened: ReturnType<typeof sqliteStore>) => T): T {
  const opened = sqliteStore({ path: store.slice('sqlite:'.length) });
  try {
    return use(opened);
  } finally {
    opened.close();
  }
}

/** A question in the inbox. */
function ask(place: TestHome, id = 'ask-1'): string {
  const card: Card = {
    ...{ id, kind: 'ask', task: 't', code: 'rule_declined', counters: {}, evidence: ['pay?'] },
    ...{ actions: ['approve', 'decline'], state: 'open' },
  };
  open(place, (store) => store.putCard(card));
  return id;
}

function cardOf(place: TestHome, id: string): Card | undefined {
  return open(place, (store) => store.card(id));
}

/** An agent under `run` that executes a shell script and waits; its output comes back. */
function agent(place: TestHome, script: string) {
  const started = place.start(['run', '--', 'sh', '-c', `${script}\necho done; sleep 120`]);
  after(() => started.child.kill('SIGTERM'));
  return {
    ...started,
    done: () => until(() => started.out().includes('done\n')),
    async end() {
      started.child.kill('SIGTERM');
      await started.finished;
    },
  };
}

const decisions: readonly (readonly [string, string])[] = [
  ['inbox approve', `inbox approve ask-1 --by 'ann (human)'`],
  ['inbox decline', 'inbox decline ask-1'],
  ['reset', 'reset --all'],
  ['resume', 'resume --all'],
  ['pause', 'pause --all'],
  ['trip', 'trip search --for 60'],
];

test('attack 02: below a run, every command that decides refuses and says where a person can answer', async () => {
  const place = home();
  ask(place);
  const script = decisions.map(([name, words]) => `echo "== ${name}"; ${command} ${words} 2>&1; echo "code $?"`);
  const below = agent(place, script.join('\n'));
  await below.done();
  const parts = below.out().split('== ').slice(1);
  assert.equal(parts.length, decisions.length);
  for (const part of parts) {
    assert.match(part, /refused: this process belongs to sh \(the run t-.*terminal that the agent has not started/s);
    assert.match(part, /code 1\n/);
  }
  assert.equal(cardOf(place, 'ask-1')?.state, 'open');
  await below.end();
});

test('attack 02: what leaves the tree of an agent without its variables is not taken for an operator', async () => {
  const place = home();
  ask(place);
  const clean = `env -i PATH="$PATH" HOME="$HOME" SWITCHGEAR_STORE='${place.store}'`;
  const atPty = `script -qec '${command.replaceAll("'", '')} inbox approve ask-1' /dev/null`;
  const ways = [
    `setsid ${command} inbox approve ask-1`,
    `${clean} ${command} inbox approve ask-1`,
    `${clean} setsid sh -c "${command} inbox approve ask-1 > first.log 2>&1; echo over >> first.log" < /dev/null &`,
    `(${clean} setsid sh -c "sleep 1; ${command} inbox approve ask-1 > orphan.log 2>&1; echo over >> orphan.log" &)`,
    `(${clean} setsid ${atPty} < /dev/null > pty.log 2>&1; echo over >> pty.log) &`,
    `(${clean} setsid sh -c "sleep 1; ${atPty} < /dev/null > both.log 2>&1; echo over >> both.log" &)`,
  ];
  const below = agent(place, ways.join('\n'));
  await below.done();
  const read = (name: string) => {
    try {
      return readFileSync(join(place.folder, name), 'utf8');
    } catch {
      return '';
    }
  };
  const logs = ['first.log', 'orphan.log', 'pty.log', 'both.log'];
  await until(() => logs.every((name) => read(name).includes('over')));
  for (const name of logs) assert.match(read(name), /refused/, `${name}: ${read(name)}`);
  assert.equal(cardOf(place, 'ask-1')?.state, 'open');
  await below.end();
});

const canMount = spawnSync('unshare', ['-rm', 'true']).status === 0;

wholeTest(
  'attack 02: an agent that hides processes from the command is not taken for an operator',
  {
    skip: !canMount && 'the system allows no mounts',
  },
  async () => {
    const place = home();
    ask(place);
    const approve = `script -qec '${command.replaceAll("'", '')} inbox approve ask-1' /dev/null < /dev/null`;
    const ways = [
      'mount -t tmpfs none /proc',
      'mkdir -p empty; mount --bind empty /proc/$supervisor; mount --bind empty /proc/$agent',
      'mount --bind /proc/1 /proc/$supervisor; mount --bind /proc/1 /proc/$agent',
      'cp /proc/1/stat forged; mount --bind forged /proc/$agent/stat; mount --bind forged /proc/$supervisor/stat',
      'echo other > start; mount --bind start /proc/sys/kernel/random/boot_id',
      'mount --bind /proc/sys/kernel/random/uuid /proc/sys/kernel/random/boot_id',
    ];
    const clean = `env -i PATH="$PATH" HOME="$HOME" SWITCHGEAR_STORE='${place.store}' supervisor=$PPID agent=$$`;
    const scripts = ways.map((way) => [way, `${way}; ${approve}`] as const);
    for (const [index, [, script]] of scripts.entries()) writeFileSync(join(place.folder, `way-${index}.sh`), script);
    const below = agent(
      place,
      scripts.map((_, index) => `${clean} unshare -rm sh way-${index}.sh; echo over`).join('\n'),
    );
    await below.done();
    const said = below.out().split('over').slice(0, -1);
    for (const [index, way] of ways.entries()) assert.match(said[index] ?? '', /refused/, `${way}: ${below.out()}`);
    assert.equal(cardOf(place, 'ask-1')?.state, 'open');
    await below.end();
  },
);

test('attack 02: the shell of a hooked agent cannot approve what its hook asked about', async (context) => {
  const place = home();
  writeFileSync(join(place.folder, 'host.mjs'), hostProgram);
  const rule = { target: 'Bash', condition: 'ability:Bash', action: 'confirm' };
  writeFileSync(join(place.folder, 'policy.json'), JSON.stringify({ rules: [rule] }));
  const env = { ...process.env, SWITCHGEAR_STORE: place.store, HOME: place.folder };
  const host = spawn(process.execPath, ['host.mjs', process.execPath, bin], { cwd: place.folder, env });
  context.after(() => host.kill());
  let out = '';
  host.stdout.on('data', (part) => (out += part));
  host.stderr.on('data', (part) => (out += part));
  await until(() => out.includes('over'));
  assert.match(out, /refused: this process belongs to claude-code \(the session s1\)/);
  const [card] = open(place, (store) => store.cards());
  assert.equal(card?.state, 'open');
  const { code, out: said } = await place.runAtTerminal(['inbox', 'approve', card!.id, '--by', 'ann']);
  assert.equal(code, 0, said);
  const answered = cardOf(place, card!.id);
  assert.deepEqual([answered?.by, answered?.from?.note, answered?.from?.how], [userName(), 'ann', 'operator']);
  assert.match(answered?.from?.processes ?? '', /^\w+ \d+ < .*script \d+ < node \d+/);
});

/** A host that runs a hook through `sh -c`, and then a tool of its agent. */
const hostProgram = `
import { spawnSync } from 'node:child_process';
const [, , node, bin] = process.argv;
const call = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
const payload = { session_id: 's1', cwd: process.cwd(), hook_event_name: 'PreToolUse', ...call };
const shell = (line, input = '') => spawnSync('sh', ['-c', line], { input, encoding: 'utf8' });
shell(\`\${node} \${bin} hook claude-code --timeout 8 --policy policy.json\`, JSON.stringify(payload));
const [card] = JSON.parse(shell(\`\${node} \${bin} inbox list --json\`).stdout);
const said = shell(\`\${node} \${bin} inbox approve \${card.id}; true\`);
console.log(said.stdout, said.stderr, 'over');
setInterval(() => {}, 1000);
`;

test('attack 02: an operator at a second terminal answers; the answer names user and processes', async () => {
  const place = home();
  ask(place);
  const running = agent(place, '');
  await running.done();
  const { code, out } = await place.runAtTerminal(['inbox', 'approve', 'ask-1', '--by', 'ann (human)']);
  assert.equal(code, 0, out);
  const card = cardOf(place, 'ask-1');
  assert.deepEqual([card?.answer, card?.by, card?.from?.note], ['approve', userName(), 'ann (human)']);
  assert.match(card?.from?.processes ?? '', /\w+ \d+ < /);
  await running.end();
});

test('attack 02: without a terminal nobody answers while an agent runs, but an emergency stop works', async () => {
  const place = home();
  ask(place);
  const running = agent(place, '');
  await running.done();
  // As ssh without a terminal, cron and CI run it.
  const refused = await place.run(['inbox', 'approve', 'ask-1'], { CI: 'true' });
  assert.equal(refused.code, 1);
  assert.match(refused.err, /refused: an agent runs on this store .* no terminal; a person can run .* in a terminal/);
  assert.doesNotMatch(refused.err, /unattended/);
  const declined = await place.run(['inbox', 'decline', 'ask-1']);
  assert.equal(declined.code, 0, declined.err);
  const halted = await place.run(['halt', '--all', '--reason', 'night']);
  assert.equal(halted.code, 0, halted.err);
  assert.equal((await running.finished).code, 75);
});

wholeTest('attack 02: a process below an agent that the store does not guard is an operator', async () => {
  const place = home();
  ask(place);
  // Variables of agents, and of a run that has ended, as a tmux window keeps them.
  const stale = { CLAUDECODE: '1', SWITCHGEAR_TASK: 't-gone', SWITCHGEAR_SESSION: 's', SWITCHGEAR_MARK_gone: '1' };
  assert.equal((await place.run(['inbox', 'approve', 'ask-1'], stale)).code, 0);
  // An agent of another store, such as a test below an agent CLI.
  const other = home();
  ask(other);
  const env = `SWITCHGEAR_STORE='${other.store}'`;
  const running = agent(place, `${env} ${command} inbox approve ask-1; echo "code $?"`);
  await running.done();
  assert.match(running.out(), /code 0\n/);
  await running.end();
});

test('attack 02: a tmux that the agent started belongs to the agent while its run lives', async (context) => {
  const place = home();
  ask(place);
  const socket = join(place.folder, 'tmux.sock');
  const version = spawn('tmux', ['-V']);
  const hasTmux = await new Promise<boolean>((resolve) => {
    version.on('error', () => resolve(false));
    version.on('close', (code) => resolve(code === 0));
  });
  if (!hasTmux) return context.skip('tmux is not installed');
  const tmux = (line: string) => `tmux -S '${socket}' ${line}`;
  const running = agent(place, tmux('new-session -d -s work'));
  await running.done();
  const log = join(place.folder, 'window.log');
  const approve = async () => {
    const line = `${command.replaceAll("'", '')} inbox approve ask-1 > ${log} 2>&1; echo over >> ${log}`;
    spawn('sh', ['-c', tmux(`new-window -t work: "${line}"`)], { env: { PATH: process.env.PATH } });
    await until(() => {
      try {
        return readFileSync(log, 'utf8').includes('over');
      } catch {
        return false;
      }
    });
    const text = readFileSync(log, 'utf8');
    writeFileSync(log, '');
    return text;
  };
  assert.match(await approve(), /refused: this process belongs to sh/);
  await running.end();
});

test('attack 02: an agent may halt, which is recorded as the order of an agent', async () => {
  const place = home();
  // The agent may be faster than the task of its run.
  const script = `until ${command} halt --all --reason enough | grep -q ^halted; do sleep 0.2; done; sleep 120`;
  const below = place.start(['run', '--', 'sh', '-c', script]);
  assert.equal((await below.finished).code, 75);
  const given = open(place, (store) => store.tail(0)).findLast(({ type }) => type === 'order-given');
  assert.ok(given?.type === 'order-given');
  assert.deepEqual([given.order, given.by, given.from?.how], ['halt', 'sh (an agent)', 'agent']);
});

/** Writes a policy that loosens, and a forged record of trust in it under a folder that the agent names. */
async function forgeTrust(place: TestHome, text: string): Promise<Readonly<Record<string, string>>> {
  writeFileSync(join(place.folder, 'switchgear.toml'), text);
  const checked = await place.run(['policy', 'check', 'switchgear.toml']);
  const [, digest = ''] = /digest: (\w{64})/.exec(checked.out) ?? [];
  const trusted = join(place.folder, 'evil', 'switchgear', 'trusted');
  mkdirSync(trusted, { recursive: true });
  const record = JSON.stringify({ file: 'switchgear.toml', by: 'ann', atMs: Date.now() });
  writeFileSync(join(trusted, `${digest}.json`), record, { mode: 0o600 });
  return { XDG_STATE_HOME: join(place.folder, 'evil') };
}

wholeTest('attack 04: an agent that sets the state folder does not trust its own policy', async () => {
  const place = home();
  const { XDG_STATE_HOME } = await forgeTrust(place, '[task]\nmax_tool_calls = 70\n');
  const explain = `XDG_STATE_HOME='${XDG_STATE_HOME}' ${command} policy explain`;
  const below = agent(place, `${explain} 2>&1; HOME='${place.folder}/evil' ${command} policy trust 2>&1`);
  await below.done();
  assert.match(below.out(), /max_tool_calls +50 .*waits for trust/);
  assert.match(below.out(), /refused: this process belongs to sh/);
  await below.end();
  const outside = await place.run(['policy', 'explain'], { XDG_STATE_HOME: XDG_STATE_HOME! });
  assert.match(outside.out, /max_tool_calls +70/, 'the variables of an operator count');
});

/** Replaces the home that the system knows: only who writes the command line of Node can do that. */
const ownHome = (folder: string) => {
  const patch = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module';
    os.userInfo = () => ({ username: 'ann', homedir: ${JSON.stringify(folder)} }); syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(patch)}` };
};

test('attack 02: unattended answers need the trust of the user, not of a folder that a process names', async () => {
  const place = home();
  ask(place);
  const forged = await forgeTrust(place, '[approval]\nunattended = true\n');
  const running = agent(place, '');
  await running.done();
  const refused = await place.run(['inbox', 'approve', 'ask-1'], { ...forged, CI: 'true' });
  assert.match(refused.err, /refused: an agent runs on this store/);
  assert.equal(cardOf(place, 'ask-1')?.state, 'open');
  await running.end();
  assert.equal((await place.run(['policy', 'trust'])).code, 0);
  const again = agent(place, '');
  await again.done();
  const allowed = await place.run(['inbox', 'approve', 'ask-1'], ownHome(place.folder));
  assert.equal(allowed.code, 0, allowed.err);
  assert.equal(cardOf(place, 'ask-1')?.from?.how, 'unattended');
  await again.end();
});

test('attack 18: below an agent, run --observe refuses as without it', async () => {
  const place = home();
  const nested = `${command} run --observe --store '${place.store}' -- true 2>&1; echo "code $?"`;
  const below = agent(place, nested);
  await below.done();
  assert.match(below.out(), /--observe is ignored: this process is below an agent/);
  await below.end();
});

wholeTest('attack 18: a hook that names the observing run of somebody else refuses all the same', async () => {
  const place = home();
  const rule = { target: 'Bash', condition: 'ability:Bash', action: 'abort' };
  writeFileSync(join(place.folder, 'policy.json'), JSON.stringify({ rules: [rule] }));
  const running = place.start(['run', '--observe', '--', 'sh', '-c', 'echo "task $SWITCHGEAR_TASK"; sleep 120']);
  after(() => running.child.kill('SIGTERM'));
  await until(() => running.out().includes('task t-'));
  const [, task = ''] = /task (t-\S+)/.exec(running.out()) ?? [];
  const payload = { session_id: 's', cwd: place.folder, hook_event_name: 'PreToolUse', tool_name: 'Bash' };
  const hook = place.start(['hook', 'claude-code', '--policy', 'policy.json'], { SWITCHGEAR_TASK: task });
  hook.child.stdin.end(JSON.stringify({ ...payload, tool_use_id: 'c', tool_input: { command: 'ls' } }));
  assert.match((await hook.finished).out, /"permissionDecision":"deny"/);
  running.child.kill('SIGTERM');
  await running.finished;
});

test('attack 02: chain run and resume take no answer at a terminal that an agent may have opened', async () => {
  const place = home();
  const chain =
    'id: pay\ncircuit_breakers: ["ability:*|confirm"]\nsteps:\n' +
    '  - { id: go, ability: shell.execute, args: { command: touch paid } }\n';
  writeFileSync(join(place.folder, 'chain.yaml'), chain);
  writeFileSync(join(place.folder, 'abilities.toml'), '[abilities]\nshell = true\n');
  const clean = `env -i PATH="$PATH" HOME="$HOME" SWITCHGEAR_STORE='${place.store}'`;
  const run = `${command.replaceAll("'", '')} chain run chain.yaml --policy abilities.toml`;
  const keys = '(for i in 1 2 3 4 5 6 7 8; do sleep 1; echo y; done)';
  const atPty = `${keys} | timeout 15 script -qec '${run}' /dev/null > chain.log 2>&1; echo over >> chain.log`;
  const running = agent(place, '');
  await running.done();
  // An orphan: nobody can say who started it.
  spawn('sh', ['-c', `(${clean} setsid sh -c "${atPty.replaceAll('$', '\\$')}" &)`], {
    cwd: place.folder,
    env: { PATH: process.env.PATH, HOME: place.folder },
  });
  const read = () =>
    existsSync(join(place.folder, 'chain.log')) ? readFileSync(join(place.folder, 'chain.log'), 'utf8') : '';
  await until(() => read().includes('over'));
  assert.match(read(), /questions are asked in the inbox only/);
  assert.equal(existsSync(join(place.folder, 'paid')), false, read());
  await running.end();
});
