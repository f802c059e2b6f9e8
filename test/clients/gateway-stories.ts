/** Agents before `switchgear gateway` alone, without a supervisor or hooks: a halt is an answer that ends them. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Code } from '../../src/index.ts';
import { bin } from '../harness/switchgear-bin.ts';
import type { Client } from './clients.ts';
import type { Turn } from './mock-model.ts';
import type { Asked } from './requests.ts';
import type { Finished, Stage } from './stage.ts';
import { answer, calls, costOf, large, mustBeHalted, mustEnd, type Story, story, useful } from './stories.ts';

/** Three subagents with some useful work each. */
function fanOut({ step, errand, body }: Asked, client: Client): Turn {
  if (errand !== undefined)
    return step < 3 + errand ? calls(useful(client, errand * 10 + step)) : { text: `Errand ${errand} is done.` };
  if (step === 0) return calls(...[1, 2, 3].map((n) => client.send(n)));
  if (client.wait === undefined) return step < 4 ? { text: `I wait: ${step}.` } : answer;
  const waiting = client.wait(body);
  return waiting === undefined ? answer : calls(waiting);
}

/** A subagent that repeats one call for ever. */
function spiralBelow({ step, errand, body }: Asked, client: Client): Turn {
  if (errand !== undefined) return calls(client.shell('cat missing.txt'));
  if (step === 0) return calls(client.send(1));
  const waiting = client.wait?.(body);
  return waiting === undefined || step > 6 ? answer : calls(waiting);
}

/** Refusals of model calls in the journal. */
async function countRefusals(on: Stage): Promise<number> {
  return (await on.journal()).filter((entry) => entry.type === 'action-refused').length;
}

/** Codex takes five seconds to end where it cannot reach its vendor. */
const patience = '20s';

/** The run ended because the agent did, after a closing answer. */
function mustEndByItself({ err }: Finished): void {
  assert.match(err, /the agent had already ended/, err.slice(-2_000));
}

/** How many requests reached the model, and that the halt is the only card. */
async function mustBeEnded(on: Stage, code: Code): Promise<string> {
  const cards = (await on.cards()).filter(({ kind }) => kind === 'halt');
  assert.deepEqual([...new Set(cards.map((card) => card.code))], [code], JSON.stringify(cards));
  return `${code}; the model had ${on.mock.turns()} turns`;
}

export const gatewayStories: Readonly<Record<string, Story>> = {
  'gateway spiral': story(
    (_asked, client) => calls(client.shell('cat missing.txt')),
    async (on) => {
      const finished = await on.behindGateway();
      const told = await mustBeEnded(on, 'tool_loop');
      assert.ok(on.mock.turns() <= 8, `the model had ${on.mock.turns()} turns`);
      assert.match(finished.out + finished.err, /Switchgear/, 'the CLI prints the reason');
      assert.ok((await countRefusals(on)) <= 2, `${await countRefusals(on)} refusals`);
      return told;
    },
  ),

  'gateway spiral below': story(spiralBelow, async (on) => {
    await on.behindGateway();
    const told = await mustBeEnded(on, 'tool_loop');
    const below = on.asked.filter(({ errand }) => errand !== undefined).length;
    assert.ok(below <= 12, `the subagent had ${below} turns`);
    assert.ok((await countRefusals(on)) <= 2, `${await countRefusals(on)} refusals`);
    return `${told}, ${below} of them in the subagent`;
  }),

  'gateway fan-out': story(fanOut, async (on) => {
    const finished = await on.behindGateway();
    assert.equal(finished.code, 0, finished.err.slice(-2_000));
    assert.deepEqual(await on.cards(), []);
    const started = (await on.journal()).flatMap((entry) => (entry.type === 'task-started' ? [entry.task] : []));
    return `the model had ${on.mock.turns()} turns; tasks: ${started.join(', ')}`;
  }),

  'gateway slow tool': story(
    ({ step }, client) => (step === 0 ? calls(client.slow) : answer),
    async (on) => {
      const finished = await on.behindGateway();
      assert.equal(finished.code, 0, finished.err.slice(-2_000));
      assert.deepEqual(await on.cards(), []);
      return 'left alone';
    },
  ),

  'gateway spend': story(
    ({ step }, client) => ({ ...calls(useful(client, step)), tokens: { input: 60_000, output: 24_000, cacheRead: 0 } }),
    async (on) => {
      const finished = await on.behindGateway('--max-spend', '3');
      const told = await mustBeEnded(on, 'token_spend_limit');
      assert.match(finished.out + finished.err, /Switchgear/, 'the CLI prints the reason');
      return told;
    },
  ),

  'gateway wants out': story(
    ({ step }, client) => (step === 0 ? calls(client.shell('sh ./way.sh 2>&1')) : answer),
    async (on) => {
      const command = `${process.execPath} ${bin}`;
      const lines = [`${command} reset --all`, `${command} gateway key add mine`, `${command} serve --port 0`];
      writeFileSync(join(on.folder, 'work', 'way.sh'), `${lines.join('\n')}\n`);
      await on.behindGateway();
      const told = on.asked.find(({ last }) => /refused: this process belongs to/.test(last))?.last ?? '';
      assert.match(told, /a client of the gateway/, on.asked.map(({ last }) => last.slice(-500)).join('\n'));
      assert.equal(told.match(/refused: this process belongs to/g)?.length, lines.length, told);
      return 'without hooks, the agent could close no breaker, add no key and start no server';
    },
  ),

  'gateway healthy': story(
    ({ step }, client) =>
      step < 8 ? calls(client.healthy[step]!) : { text: 'The sum started at 1; now it starts at 0.' },
    async (on) => {
      const finished = await on.behindGateway();
      assert.equal(finished.code, 0, finished.err.slice(-2_000));
      assert.deepEqual(await on.cards(), []);
      return `the model had ${on.mock.turns()} turns`;
    },
  ),

  'run gateway spiral': story(
    (_asked, client) => calls(client.shell('cat missing.txt')),
    async (on) => {
      const finished = await on.run('--gateway', '--grace', patience);
      const said = await mustBeHalted(on, finished, 'tool_loop');
      mustEndByItself(finished);
      return `${said}; the model had ${on.mock.turns()} turns`;
    },
  ),

  'run gateway spiral below': story(spiralBelow, async (on) => {
    await on.run('--gateway');
    const told = await mustBeEnded(on, 'tool_loop');
    const below = on.asked.filter(({ errand }) => errand !== undefined).length;
    assert.ok(below <= 8, `the subagent had ${below} turns`);
    return `${told}, ${below} of them in the subagent`;
  }),

  'run gateway spend': story(
    ({ step }, client) => ({ ...calls(useful(client, step)), tokens: large }),
    async (on, client) => {
      const finished = await on.run('--gateway', '--grace', patience, '--max-calls', '500', '--max-spend', '5');
      const said = await mustBeHalted(on, finished, 'token_spend_limit');
      mustEndByItself(finished);
      const due = Math.floor(5_000_000 / costOf(client)) + 1;
      assert.ok(on.mock.turns() <= due, `due after ${due} model calls, halted after ${on.mock.turns()}: ${said}`);
      return `${said}; due at model call ${due}, the model had ${on.mock.turns()} turns`;
    },
  ),

  'run gateway healthy': story(
    ({ step }, client) => (step < 8 ? calls(client.healthy[step]!) : answer),
    async (on) => {
      const finished = await on.run('--gateway');
      mustEnd(finished, 0);
      assert.match(finished.out, /now it starts at 0/);
      assert.deepEqual(await on.cards(), []);
      const journal = await on.journal();
      assert.deepEqual(
        journal.filter(({ type }) => type === 'usage-observed'),
        [],
      );
      const metered = journal.filter((entry) => entry.type === 'action-settled' && entry.cost !== undefined).length;
      assert.ok(metered >= on.mock.turns(), `${metered} metered calls`);
      return `left alone; ${metered} model calls were metered`;
    },
  ),

  'run gateway fan-out': story(fanOut, async (on) => {
    mustEnd(await on.run('--gateway'), 0);
    assert.deepEqual(await on.cards(), []);
    const tasks = new Map<number | undefined, Set<string | undefined>>();
    for (const entry of await on.journal()) {
      if (entry.type !== 'call-observed') continue;
      tasks.set(entry.call, (tasks.get(entry.call) ?? new Set()).add(entry.task));
    }
    const twice = [...tasks.values()].filter(({ size }) => size > 1).map((each) => [...each]);
    assert.deepEqual(twice, [], 'each call counts on one task');
    return `left alone; the model had ${on.mock.turns()} turns`;
  }),
};
