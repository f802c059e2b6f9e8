/** The commands over a store: what one process orders, another one with a gear does. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { main } from '../../../src/cli/main.ts';
import { startRedis, testWithRedis } from '../../redis-server.ts';
import { storePlace, testOn } from '../../stores/both-stores.ts';

const { folder, server } = storePlace();
const bin = fileURLToPath(new URL('../../../bin/switchgear.cjs', import.meta.url));
const agentFile = fileURLToPath(new URL('./agent-child.ts', import.meta.url));

async function run(commandLine: string, store?: string) {
  const out: string[] = [];
  const err: string[] = [];
  const args = [...commandLine.split(' '), ...(store === undefined ? [] : ['--store', store])];
  const terminal = { cwd: folder, env: { HOME: folder }, out: (line: string) => out.push(line) };
  const code = await main(args, { ...terminal, err: (line) => err.push(line) });
  return { code, out: out.join('\n'), err: err.join('\n') };
}

/** Lines of a child, one at a time; each is waited for. */
function readLines(child: ChildProcess) {
  let text = '';
  let wake = () => {};
  child.stdout?.on('data', (data) => {
    text += data;
    wake();
  });
  return async (): Promise<string> => {
    while (!text.includes('\n')) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const [line = '', ...rest] = text.split('\n');
    text = rest.join('\n');
    return line;
  };
}

const kinds: Readonly<Record<string, () => { readonly child: readonly string[]; readonly store: string }>> = {
  'in a file': () => ({ child: [join(folder, 'agents.db')], store: `sqlite:${join(folder, 'agents.db')}` }),
  'in Redis': () => ({ child: [server().url, 'fleet'], store: `${server().url}?prefix=fleet` }),
};

for (const [name, makeStore] of Object.entries(kinds)) {
  const test = testOn(name);
  test(`${name}: a gear carries out operator orders of another process`, { timeout: 60_000 }, async () => {
    const { child: args, store } = makeStore();
    const child = spawn(process.execPath, [agentFile, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    const nextLine = readLines(child);
    try {
      assert.equal(await nextLine(), 'found');
      const nobody = run('halt nobody', store);
      const status = await run('status --json', store);
      const { tasks, health } = JSON.parse(status.out);
      assert.equal(health.state, 'shared');
      assert.deepEqual(
        tasks.map(({ id, agent, state }: Record<string, string>) => [id, agent, state]),
        [
          ['research', 'Researcher', 'running'],
          ['draft', 'Researcher', 'running'],
        ],
      );

      assert.deepEqual(await run('pause research', store), { code: 0, out: 'paused research', err: '' });
      assert.equal(await nextLine(), 'task_paused');
      assert.match((await run('status', store)).out, /research +paused[\s\S]*Orders \(1\)\n {2}pause +research/);
      assert.equal((await run('resume draft', store)).code, 1);
      assert.deepEqual(await run('resume research', store), { code: 0, out: 'resumed research', err: '' });
      assert.equal(await nextLine(), 'found');

      const tripped = await run('trip search --for 600', store);
      assert.match(
        tripped.out,
        /^search is tripped for 10 min\. The store has no breaker of this name yet; new ones open at/,
      );
      assert.equal(await nextLine(), 'circuit_open');
      const { breakers, orders } = JSON.parse((await run('status --json', store)).out);
      assert.deepEqual(
        breakers.map(({ name: tool, state, trips, of, project }: Record<string, unknown>) => [
          tool,
          state,
          trips,
          of,
          project,
        ]),
        [['search', 'OPEN', 1, 'Researcher', 'shop']],
      );
      assert.equal(breakers[0].untilMs, orders.trips[0].untilMs); // Until the end of the order, whenever it was called.
      assert.deepEqual(await run('reset search', store), { code: 0, out: '1 breaker reset: search', err: '' });
      assert.equal(await nextLine(), 'found');
      assert.equal((await run('reset --all', store)).code, 1);
      assert.match((await run('trip search', store)).out, /^search is tripped for 60 s\. 1 breaker opened;/);
      assert.equal(await nextLine(), 'circuit_open');
      assert.equal((await run('reset --all', store)).code, 0);
      assert.equal(await nextLine(), 'found');

      assert.deepEqual(await nobody, { code: 1, out: '', err: 'switchgear: no task "nobody" runs on this store' });
      const halted = await run('halt --all --json --reason=enough', store);
      assert.equal(halted.code, 0);
      assert.deepEqual(JSON.parse(halted.out), {
        order: 'halt',
        target: null,
        tasks: ['research', 'draft'],
        silent: [],
      });
      assert.equal(await nextLine(), 'operator_halt');
      const idle = { code: 0, out: 'nothing to halt: no task runs on this store', err: '' };
      assert.deepEqual(await run('halt --all', store), idle);
      const lines = (await run('tail -n 100', store)).out;
      assert.match(lines, /order-given +halt all by .+: enough\n/);
      assert.match(lines, /task-halted +an operator halted the task: enough {2}draft\n/);
      const [last] = (await run('tail --json -n 1', store)).out.split('\n');
      assert.equal(JSON.parse(last!).order, 'halt');
    } finally {
      child.kill();
      await once(child, 'exit');
    }
  });

  test(`${name}: tail --follow prints new entries until it is stopped`, { timeout: 60_000 }, async () => {
    const { store } = makeStore();
    const child = spawn(process.execPath, [bin, 'tail', '--follow', '-n', '0', '--store', store]);
    const nextLine = readLines(child);
    try {
      // It says nothing before something happens: orders are given until it has heard one.
      let line: string | undefined;
      void nextLine().then((first) => {
        line = first;
      });
      for (let tries = 0; line === undefined && tries < 50; tries++) {
        assert.equal((await run('trip nothing --for 1 --reason=hello', store)).code, 0);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      assert.match(line ?? '', /^\d\d:\d\d:\d\d {2}order-given +trip nothing by .+: hello$/);
    } finally {
      child.kill('SIGINT');
    }
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  });
}

test('a read-only command creates no file, and reports that the store does not exist', async () => {
  const quiet = await run('status');
  assert.equal(quiet.code, 0);
  const name = join(folder, '.local', 'state', 'switchgear', 'state.db');
  assert.ok(quiet.out.startsWith(`sqlite:${name}  the store does not exist yet\n`));
  assert.deepEqual(await run('tail'), { code: 0, out: '', err: '' });
  assert.ok(
    (await run('status', 'sqlite:~/x.db')).out.startsWith(`sqlite:${join(folder, 'x.db')}  the store does not exist`),
  );
  assert.ok(!readdirSync(folder).includes('.local'));
});

testWithRedis(
  'a store that cannot be used ends a command with one sentence and exit code 2, and changes nothing',
  async () => {
    writeFileSync(join(folder, 'notes.txt'), 'not a database');
    const other = new DatabaseSync(join(folder, 'other.db'));
    other.exec('CREATE TABLE mine (x)');
    other.close();
    assert.equal((await run('pause --all', 'sqlite:newer.db')).code, 0);
    assert.match((await run('resume x', 'sqlite:newer.db')).err, /^switchgear: all tasks are paused, .+ resume --all$/);
    const newer = new DatabaseSync(join(folder, 'newer.db'));
    newer.exec("PRAGMA user_version = 99; UPDATE meta SET value = '99' WHERE key = 'format'");
    newer.close();
    const secured = await startRedis(['--requirepass', 'right']);
    try {
      for (const [store, sentence] of [
        ['mysql:x', /must be sqlite:PATH, redis:\/\/HOST:PORT or rediss:\/\/HOST:PORT, got "mysql:x"/],
        ['redis://me:secret@', /got "redis:\/\/…@"/],
        ['redis://127.0.0.1:1/x', /expected the number of a database after the host, as in redis:\/\/HOST:PORT\/0/],
        ['redis://127.0.0.1:1', /the store redis:\/\/127\.0\.0\.1:1 cannot be used: no Redis server answers/],
        [`redis://:wrong@127.0.0.1:${secured.port}`, /cannot be used: Redis refused the user or the password$/],
        ['sqlite:notes.txt', /notes\.txt" is not a SQLite database/],
        ['sqlite:other.db', /other\.db" is a database of another program/],
        ['sqlite:newer.db', /has version 99, and this Switchgear knows versions up to \d+/],
        ['sqlite:notes.txt/state.db', /cannot be opened: its folder cannot be created/],
        [`sqlite:${folder}`, /cannot be opened: it is a folder/],
      ] as const) {
        const { code, out, err } = await run('trip search', store);
        assert.deepEqual([code, out], [2, ''], store);
        const [first, ...rest] = err.split('\n');
        assert.match(first!, sentence);
        assert.deepEqual(rest, /must be|number/.test(first!) ? ['Try switchgear trip --help.'] : [], store);
        assert.ok(!/secret|wrong/.test(err), err);
      }
    } finally {
      await secured.stop();
    }
    assert.equal(readFileSync(join(folder, 'notes.txt'), 'utf8'), 'not a database');
  },
);

test('a store file without write permission ends a command with a one-sentence error', () => {
  const path = join(folder, 'locked.db');
  writeFileSync(path, '');
  chmodSync(path, 0o444);
  chmodSync(folder, 0o755);
  const isRoot = process.getuid?.() === 0; // Whom no mode keeps from writing.
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'trip', 'search', '--store', `sqlite:${path}`], {
    encoding: 'utf8',
    ...(isRoot && { uid: 65_534, gid: 65_534 }),
  });
  assert.deepEqual([status, stdout], [2, '']);
  assert.match(stderr, /^switchgear: the store ".+locked\.db" cannot be opened: this user may not write there\n$/);
});

for (const commandLine of [
  'status x',
  'tail -n many',
  'tail -n',
  'trip',
  'trip x --for -3',
  'reset',
  'reset x --all',
  'halt',
]) {
  test(`"${commandLine}" is wrong usage`, async () => {
    const { code, out, err } = await run(commandLine);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, /^switchgear: .+\nTry switchgear (\w+ )?--help\.$/);
  });
}
