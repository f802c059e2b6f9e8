/** `switchgear chain` as a user types it: real processes, a real MCP server, a real SQLite file. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { userName } from '../../../src/approvers/user-name.ts';
import { main } from '../../../src/cli/main.ts';
import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import { loadPolicy } from '../../../src/policy/index.ts';
import { gone } from '../../chains/abilities/call-ability.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin } from '../../harness/switchgear-bin.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const seed = readFileSync(file('../../fixtures/seed-chain.yaml'), 'utf8');
const looking = 'on_missing: pending\nlookup: [outputs, args]\n';

/** A chain file with its steps, one line each. */
const chainOf = (id: string, ...steps: readonly string[]) =>
  [`id: ${id}`, 'steps:', ...steps.map((step) => `  - { ${step} }`), ''].join('\n');

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A folder with files, a store of its own, two MCP servers, and the command run in it. */
function home(context: TestContext, files: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-chain-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const trades = join(folder, 'trades.jsonl');
  const trading = file('../../../examples/price-alert-trade/server.ts');
  const mcpServers = {
    trading: { command: process.execPath, args: [trading], env: { ...compiled, TRADES: trades } },
    tools: {
      command: process.execPath,
      args: [file('../../chains/abilities/mcp/tool-server.ts')],
      env: { ...compiled, STARTS: join(folder, 'starts') },
    },
  };
  const all = { 'mcp.json': JSON.stringify({ mcpServers }), 'seed.yaml': seed, ...files };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);

  // npm says in NODE which Node it runs on itself: not one to start anything with.
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const env = {
    ...compiled,
    PATH,
    NODE: '/nowhere',
    HOME: folder,
    SWITCHGEAR_STORE: `sqlite:${join(folder, 'state.db')}`,
  };
  const start = (...args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } => {
    const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout?.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      err += chunk;
    });
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }));
    return { child, ended };
  };
  const run = (...args: readonly string[]) => start(...args).ended;

  /** The same command without a process of its own, for whoever only looks, or is not let begin. */
  const at = async (input: NodeJS.ReadStream | undefined, ...args: readonly string[]): Promise<Ended> => {
    let out = '';
    let err = '';
    const code = await main(args, {
      cwd: folder,
      env,
      ...(input && { input }),
      out: (line) => {
        out += `${line}\n`;
      },
      err: (line) => {
        err += `${line}\n`;
      },
    });
    return { code, out, err };
  };
  const look = Object.assign((...args: readonly string[]) => at(undefined, ...args), { at });

  /** Asks until something is there. */
  const until = async <T>(ask: () => Promise<T | undefined>): Promise<T> => {
    for (let tries = 0; tries < 600; tries++) {
      const found = await ask();
      if (found !== undefined) return found;
      await new Promise((wake) => setTimeout(wake, 100));
    }
    throw new Error('it did not come');
  };
  const runs = async () =>
    JSON.parse((await look('chain', 'list', '--all', '--json')).out) as { id: string; status: string }[];
  return {
    folder,
    run,
    look,
    start,
    runs,
    trades: () => (existsSync(trades) ? readFileSync(trades, 'utf8').trim().split('\n') : []),
    starts: () =>
      existsSync(join(folder, 'starts')) ? readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n') : [],
    card: () =>
      until(async () => {
        const { out } = await look('inbox', 'list', '--json');
        return (JSON.parse(out) as { id: string; state: string }[]).find(({ state }) => state === 'open')?.id;
      }),
    until,
  };
}

const patient = { timeout: 120_000 };
const given = ['--param', 'ticker=ACME', '--param', 'max_spend=900', '--param', 'buy_threshold=100'];

test('linting the documented sample chain gives two warnings and succeeds', patient, async (context) => {
  const { look } = home(context);
  const { code, out } = await look('chain', 'lint', 'seed.yaml');
  assert.equal(code, 0);
  const lines = out.trim().split('\n');
  assert.equal(lines.length, 3);
  assert.match(lines[0]!, /^seed\.yaml:\d+:\d+: warning: .*no step outputs amount/);
  assert.match(lines[1]!, /^seed\.yaml:\d+:\d+: warning: .*buy_threshold.*must be given at run time/);
  assert.equal(lines[2], 'seed.yaml can be run, with 2 warnings.');
});

test('the unchanged sample chain aborts before step 1 and names the missing amount', patient, async (context) => {
  const { look, run, trades, runs } = home(context);
  const { code, out } = await run('chain', 'run', 'seed.yaml', ...given, '--id', 'first');
  assert.equal(code, 3);
  assert.match(
    out,
    /^Price Alert with Auto-Trade, run first\nStopped: .*amount.* What happened: switchgear chain show first\n$/,
  );
  assert.deepEqual(trades(), []);
  const shown = JSON.parse((await look('chain', 'show', 'first', '--json')).out);
  assert.deepEqual(
    [shown.status, shown.end.code, shown.steps.map(({ status }: { status: string }) => status)],
    ['aborted', 'rule_abort', ['pending', 'pending']],
  );
  assert.equal(shown.end.message, 'Trade amount exceeds maximum spend of $900 (amount is missing)');
  assert.deepEqual(await runs().then((all) => all.map(({ id, status }) => [id, status])), [['first', 'aborted']]);
});

test(
  'with on_missing and lookup the sample chain fetches, asks, and trades after an approval in the inbox',
  patient,
  async (context) => {
    const { look, start, trades, card } = home(context, { 'pending.yaml': looking + seed });
    assert.match((await look('chain', 'lint', 'pending.yaml')).out, /can be run, with 1 warning\.\n$/);
    const { ended } = start('chain', 'run', 'pending.yaml', ...given, '--id', 'buy');
    const id = await card();
    assert.deepEqual(trades(), []);
    assert.equal((await look('inbox', 'approve', id, '--by', 'ann')).code, 0);
    const { code, out } = await ended;
    assert.equal(code, 0, out);
    assert.deepEqual(trades(), ['{"symbol":"ACME","shares":10,"amount":900}']);
    assert.match(out, /fetch_price {2}trading\.get_price {2}done {2}in \d+/);
    assert.match(out, /execute_trade {2}asks: Confirm before executing trade\n {4}with \{"symbol":"ACME",/);
    assert.match(out, /"amount":900\}\n {4}a person can answer within 2 min in the inbox: switchgear inbox show/);
    assert.match(out, /execute_trade {2}approved by \S+\n.*execute_trade {2}trading\.execute {2}done/s);
    assert.match(out, /Done in .*\. What came out: switchgear chain show buy --outputs\n$/);
    const shown = await look('chain', 'show', 'bu', '--outputs');
    assert.match(shown.out, /fetch_price +done +trading\.get_price[\s\S]*"shares": 10/);
  },
);

test('the chain command printed in the README runs unchanged', async (context) => {
  const page = readFileSync(file('../../../README.md'), 'utf8');
  const [, path, params] = /^switchgear chain run (\S+) (.+)$/m.exec(page)!;
  const { run } = home(context);
  const { out, err } = await run('chain', 'run', file(`../../../${path}`), ...params!.split(' '), '--no-wait');
  assert.match(out, /fetch_price {2}trading\.get_price {2}done[\s\S]+execute_trade {2}asks/, err);
});

test('missing and unknown parameters are errors before any step runs', patient, async (context) => {
  const { look, runs, starts } = home(context, {
    'shell.yaml': chainOf('s', 'id: a, ability: tools.json', 'id: b, ability: shell.execute, args: { command: ls }'),
    'typo.yaml': chainOf('t', 'id: a, ability: tools.jsn'),
    'broken.yaml': chainOf('b', 'id: a, ability: tools.json, oops: 1', 'id: a, ability: tools.json'),
    'wrong.json': '{ "mcpServers": { "a": {} } }',
  });
  const wrong: readonly (readonly [args: readonly string[], err: RegExp])[] = [
    [
      ['run', 'seed.yaml', ...given.slice(0, 4)],
      /^switchgear: buy_threshold is used but not declared as a parameter, and was not given$/m,
    ],
    [
      ['run', 'seed.yaml', ...given, '--param', 'tcker=x'],
      /"tcker" is not a parameter of price_alert_trade; did you mean ticker\?/,
    ],
    [['run', 'seed.yaml', ...given, '--param', 'ticker=x'], /--param ticker is given twice/],
    [['run', 'seed.yaml', '--param', 'ticker'], /--param needs NAME=VALUE, got "ticker"/],
    [
      ['run', 'shell.yaml'],
      /the ability shell\.execute is off: to turn it on, set shell = true in the section \[abilities\]/,
    ],
    [['run', 'typo.yaml'], /step a: unknown ability "tools\.jsn": there are .*tools\.json/],
    [['run', 'broken.yaml'], /^switchgear: broken\.yaml:3:\d+: .*oops[\s\S]*^switchgear: broken\.yaml:4:/m],
    [['run', 'absent.yaml'], /absent\.yaml:1:1: the file cannot be read/],
    [['run', 'seed.yaml', ...given, '--mcp', 'wrong.json'], /wrong\.json: mcpServers\.a needs either command or url/],
    [['run', 'seed.yaml', ...given, '--plan', 'absent.txt'], /absent\.txt: the file cannot be read/],
    [['run', 'seed.yaml', '--yes'], /unknown option --yes/],
    [['resume', 'nobody'], /there is no run "nobody"/],
    [['lint', 'broken.yaml'], /^$/],
    [['walk'], /chain: expected 'run', 'resume', 'list', .* got 'walk'/],
  ];
  for (const [args, err] of wrong) {
    const ended = await look('chain', ...args);
    assert.equal(ended.code, 2, `${args.join(' ')}: ${ended.out}${ended.err}`);
    assert.match(ended.err, err);
  }
  assert.deepEqual(await runs(), []);
  assert.ok(starts().length > 0); // Servers are asked what they can do; none of their tools was called.
});

test(
  'a denial stops a chain run, and a run that exited without waiting accepts a later answer',
  patient,
  async (context) => {
    const { look, run, card, trades } = home(context, { 'pending.yaml': looking + seed });
    const first = await run('chain', 'run', 'pending.yaml', ...given, '--id', 'one', '--no-wait');
    assert.deepEqual(
      [first.code, /Waiting for a person to answer: switchgear inbox show ask-\w+/.test(first.out)],
      [6, true],
    );
    assert.match((await look('chain', 'list')).out, /^ {2}one {2}waiting {2}price_alert_trade {2}1 of 2 steps/);
    await look('inbox', 'decline', await card());
    const declined = await run('chain', 'resume', 'one');
    assert.deepEqual([declined.code, trades()], [3, []]);
    assert.match(declined.out, /resumed\n.*Stopped: .*Confirm before executing trade/s);
    assert.equal(
      (await look('chain', 'list')).out,
      'No run is under way; switchgear chain list --all shows 1 that are over.\n',
    );
    assert.match((await run('chain', 'resume', 'one')).err, /the run "one" has already ended: its status is aborted/);
    await run('chain', 'run', 'pending.yaml', ...given, '--id', 'two', '--no-wait');
    await look('inbox', 'approve', await card());
    const approved = await run('chain', 'resume', 'two', '--json');
    assert.deepEqual([approved.code, JSON.parse(approved.out).status, trades().length], [0, 'done', 1]);
  },
);

test('the question is asked at an open terminal, and end of input cancels the run', patient, async (context) => {
  const { look, trades } = home(context, { 'pending.yaml': looking + seed });
  const answer = (said: string | null) => {
    const input = Object.assign(new PassThrough(), { isTTY: true });
    if (said === null) input.end();
    else input.write(said);
    return look.at(input as unknown as NodeJS.ReadStream, 'chain', 'run', 'pending.yaml', ...given);
  };
  assert.deepEqual([(await answer('n\n')).code, trades()], [3, []]);
  const left = await answer(null);
  assert.match(left.out, /Cancelled: the terminal was closed while a question was open\./);
  assert.deepEqual([left.code, trades()], [3, []]);
  assert.deepEqual([(await answer('y\n')).code, trades().length], [0, 1]);
});

test('a failed step, a skipped step and a limit are reported with exit codes', patient, async (context) => {
  const limit = 'circuit_breakers:\n  - frequency>1/1h|throttle|"Once an hour"\n';
  const { run } = home(context, {
    'fail.yaml': chainOf('f', 'id: a, ability: tools.fail', 'id: b, ability: tools.json'),
    'skip.yaml': chainOf(
      'k',
      'id: a, ability: tools.json, output_key: o',
      'id: b, ability: tools.fail, condition: { ref_key: o.price, op: ">", value: 100 }',
    ),
    'limit.yaml': limit + chainOf('p', 'id: a, ability: tools.json'),
  });
  const failed = await run('chain', 'run', 'fail.yaml', '--id', 'f1');
  assert.equal(failed.code, 1);
  assert.match(
    failed.out,
    / {2}a {2}tools\.fail {2}failed {2}in .*\nFailed: a: ToolError: tools\.fail failed: out of stock\. What/,
  );
  const skipped = await run('chain', 'run', 'skip.yaml');
  assert.equal(skipped.code, 0);
  assert.match(skipped.out, / {2}b {2}skipped: .*o\.price/);
  assert.equal((await run('chain', 'run', 'limit.yaml')).code, 0);
  const throttled = await run('chain', 'run', 'limit.yaml', '--id', 'l2', '--explain');
  assert.equal(throttled.code, 4);
  assert.match(throttled.out, /fired {2}throttle {2}frequency>1\/1h {2}2 \(limit 1\/1h\)/);
  assert.match(
    throttled.out,
    /Throttled: .*Once an hour\. Try again in \d+ (s|min), at \d{4}-.*: switchgear chain resume l2/,
  );
});

test('a step interrupted by kill -9 is in doubt until a person resolves it', patient, async (context) => {
  const { look, run, start, starts, until } = home(context, {
    'hang.yaml': chainOf(
      'h',
      'id: a, ability: tools.json',
      'id: b, ability: tools.hang, output_key: o',
      'id: c, ability: tools.echo.args, args: { o: "{{o}}" }',
    ),
  });
  const { child, ended } = start('chain', 'run', 'hang.yaml', '--id', 'h1');
  const isAtB = async () => {
    const { code, out } = await look('chain', 'show', 'h1', '--json');
    return code === 0 && JSON.parse(out).steps[1].status === 'running' ? true : undefined;
  };
  await until(isAtB);
  assert.match((await run('chain', 'resume', 'h1')).err, /the run "h1" is owned by another process/);
  child.kill('SIGKILL');
  await ended;
  for (const pid of starts().slice(0, 1)) assert.ok(await gone(Number(pid)));
  const resumed = await run('chain', 'resume', 'h1');
  assert.equal(resumed.code, 5);
  assert.match(
    resumed.out,
    /In doubt: it is unknown whether the step b was done\. Say so: switchgear chain resolve h1 done\|redo/,
  );
  const settled = await look('chain', 'resolve', 'h1', 'done', '--output', '{"n":1}', '--by', 'ann');
  assert.deepEqual([settled.code, settled.out], [0, `Settled by ${userName()}. Go on: switchgear chain resume h1\n`]);
  assert.equal((await look('chain', 'resolve', 'h1', 'done')).code, 1);
  const done = await run('chain', 'resume', 'h1');
  assert.equal(done.code, 0, done.err);
  const shown = JSON.parse((await look('chain', 'show', 'h1', '--outputs', '--json')).out);
  assert.deepEqual(shown.outputs, { a: { price: 12.5 }, b: { n: 1 }, c: { o: { n: 1 } } });
});

test(
  'a run resumed from another folder works in the folder of its chain, and reports a missing one',
  patient,
  async (context) => {
    const { folder, look, card } = home(context, { 'switchgear.toml': '[abilities]\nshell = true\n' });
    assert.equal((await look('policy', 'trust')).code, 0);
    const lines = ['id: w', 'circuit_breakers: ["ability:shell.*|confirm"]', 'steps:'];
    const text = [...lines, '  - { id: where, ability: shell.execute, args: { command: pwd } }', ''].join('\n');
    const resumed = async (id: string, drop: boolean) => {
      const there = join(folder, id);
      mkdirSync(there);
      writeFileSync(join(there, 'w.yaml'), text);
      assert.equal((await look('chain', 'run', join(id, 'w.yaml'), '--no-wait', '--id', id)).code, 6);
      assert.equal((await look('inbox', 'approve', await card())).code, 0);
      if (drop) {
        rmSync(there, { recursive: true });
        // The approval was for the command in its folder, so a person is asked about the other folder.
        assert.equal((await look('chain', 'resume', id, '--no-wait')).code, 6);
        assert.equal((await look('inbox', 'approve', await card())).code, 0);
      }
      const { code, err } = await look('chain', 'resume', id);
      assert.equal(code, 0, err);
      const { outputs } = JSON.parse((await look('chain', 'show', id, '--outputs', '--json')).out);
      return { where: outputs.where, err };
    };
    assert.deepEqual(await resumed('here', false), { where: realpathSync(join(folder, 'here')), err: '' });
    const lost = await resumed('lost', true);
    assert.equal(lost.where, realpathSync(folder));
    assert.match(lost.err, /^warning: the folder of the chain, .*lost, does not exist here: continuing in /);
  },
);

test('Ctrl-C and a cancel from another process stop a run and its servers', patient, async (context) => {
  const { look, start, starts, until } = home(context, {
    'hang.yaml': chainOf('h', 'id: b, ability: tools.hang'),
  });
  const begun = async (id: string) => {
    const started = start('chain', 'run', 'hang.yaml', '--id', id);
    await until(async () => {
      const { code, out } = await look('chain', 'show', id, '--json');
      return code === 0 && JSON.parse(out).steps[0].status === 'running' ? true : undefined;
    });
    return started;
  };
  const first = await begun('one');
  first.child.kill('SIGINT');
  const stopped = await first.ended;
  assert.deepEqual([stopped.code, stopped.err], [3, 'SIGINT: the run is being cancelled.\n'], stopped.out);
  const second = await begun('two');
  const cancelled = await look('chain', 'cancel', 'two', '--by', 'ann');
  assert.match(cancelled.out, /^Cancelled: cancelled by \S+\. What happened: switchgear chain show two\n$/);
  assert.equal((await second.ended).code, 3);
  assert.equal(starts().length, 2);
  for (const pid of starts()) assert.ok(await gone(Number(pid)));
});

const on = '[abilities]\nshell = true\n';
const rule = '[[rules]]\ncondition = "ability:shell.execute"\naction = "abort"\nreason = "No shell here"\n';
const shellStep = (id: string) => chainOf(id, `id: a, ability: shell.execute, args: { command: "touch ran-${id}" }`);

test(
  'a policy rule against an ability stops every chain and a guarded tool with that name',
  patient,
  async (context) => {
    const { run, folder } = home(context, {
      'switchgear.toml': on + rule,
      'one.yaml': shellStep('one'),
      'two.yaml': shellStep('two'),
      'open.toml': on,
    });
    assert.equal((await run('policy', 'trust')).code, 0);
    for (const name of ['one', 'two']) {
      const { code, out } = await run('chain', 'run', `${name}.yaml`);
      assert.deepEqual([code, /Stopped: .*No shell here/.test(out)], [3, true], out);
      assert.ok(!existsSync(join(folder, `ran-${name}`)));
    }
    const policy = loadPolicy(join(folder, 'switchgear.toml'));
    const gear = createSwitchgear({ policy: policy as never, log: 'silent' });
    const execute = gear.guard('shell.execute', () => 'it ran');
    assert.equal(refusalOf(execute())?.code, 'rule_abort');
    assert.equal((await run('chain', 'run', 'one.yaml', '--policy', 'open.toml')).code, 0);
    assert.ok(existsSync(join(folder, 'ran-one')));
  },
);

test('rules proposed by a model can stop a step that the chain allows', patient, async (context) => {
  const { run } = home(context, {
    'open.yaml': chainOf('o', 'id: a, ability: tools.json, output_key: o', 'id: b, ability: tools.pid'),
    'plan.txt': 'I will look.\n<nyaya>\nD:look|low\nB:o.price>10|abort|"Too dear"\n</nyaya>\n',
    'bad.txt': '<nyaya>\nB:price>|abort|"x"\n</nyaya>',
  });
  assert.equal((await run('chain', 'run', 'open.yaml')).code, 0);
  assert.equal((await run('chain', 'run', 'open.yaml', '--plan', 'bad.txt')).code, 2);
  const planned = await run('chain', 'run', 'open.yaml', '--plan', 'plan.txt');
  assert.equal(planned.code, 3, planned.out + planned.err);
});

test('chain graph prints Mermaid, and --verbose shows the output of servers', patient, async (context) => {
  const { look, run } = home(context, { 'die.yaml': chainOf('d', 'id: a, ability: tools.die') });
  assert.match((await look('chain', 'graph', 'seed.yaml')).out, /^flowchart TD\n/);
  const quiet = await run('chain', 'run', 'die.yaml');
  assert.deepEqual([quiet.code, quiet.err], [1, '']);
  assert.match(quiet.out, /the MCP server "tools" ended while it did die \(exit code 3: no more memory\)/);
  assert.match((await run('chain', 'run', 'die.yaml', '--verbose')).err, /^\[tools\] first the cause$/m);
});
