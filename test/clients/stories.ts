/** What agents do when they spiral, and when they do not; and what `switchgear run` has to make of it. */

import assert from 'node:assert/strict';
import type { Code } from '../../src/index.ts';
import { priceBook } from '../../src/prices/index.ts';
import { named } from '../supervisor/processes.ts';
import type { Client } from './clients.ts';
import type { Turn } from './mock-model.ts';
import type { Asked } from './requests.ts';
import { type Finished, type Stage, stage } from './stage.ts';

/** Plays it, and says in a line what was seen; it throws where that is not what it should be. */
export type Story = (client: Client, installed: string) => Promise<string>;

const halted = 75;

type Scene = (asked: Asked, client: Client) => Turn;

/** Plays a scene, and clears the stage however it ends. */
export function story(scene: Scene, tell: (on: Stage, client: Client) => Promise<string>): Story {
  return async (client, installed) => {
    const on = await stage(client, installed, (asked) => scene(asked, client));
    try {
      return await tell(on, client);
    } finally {
      await on.close();
    }
  };
}

export const calls = (...made: readonly ReturnType<Client['shell']>[]): Turn => ({ calls: made });
export const answer: Turn = { text: 'The sum started at 1; now it starts at 0.' };

/** How many calls were booked on each task, the run's own first. */
async function booked(on: Stage): Promise<readonly number[]> {
  const journal = await on.journal();
  const tasks = journal.flatMap((entry) => (entry.type === 'task-started' ? [entry.task] : []));
  return tasks.map((task) => journal.filter((entry) => entry.type === 'call-observed' && entry.task === task).length);
}

export function mustEnd({ code, err }: Finished, wanted: number): void {
  assert.equal(code, wanted, `it ended with ${code}, not ${wanted}: ${err.slice(-2_000)}`);
}

/** It was halted, for this reason, with a card that says so. */
export async function mustBeHalted(on: Stage, finished: Finished, code: Code): Promise<string> {
  mustEnd(finished, halted);
  const [card, ...others] = await on.cards();
  assert.deepEqual([card?.kind, card?.code, others.length], ['halt', code, 0], finished.err);
  const said = /^switchgear: halted (.*)$/m.exec(finished.err)?.[1];
  assert.ok(said, finished.err);
  return said;
}

/** Different words for different things to look at. */
const things = 'apple brick cloud drum eagle fern glass horn iron jade kite lamp moss nail oak pearl'.split(' ');
const thing = (n: number) => `${things[n % 16]} ${things[(n * 7 + (n >> 4)) % 16]}`;

/** A call that is unlike the others, and brings something else. */
export const useful = (client: Client, n: number) => client.shell(`echo "looked at ${thing(n)}" | tee found-${n}`);

/** A process in a session of its own, which a signal to the agent or to its group does not reach. */
const straySecs = String(50_000 + process.pid);
const stray = `setsid sleep ${straySecs} >/dev/null 2>&1 &`;
const strays = () => named(['sleep', straySecs].join('\0'));

/** Tokens as an agent with a large context uses them. */
export const large = { input: 60_000, output: 24_000, cacheRead: 10_000 };
const prices = priceBook();

/** What such a model call costs, in millionths of a dollar. */
export function costOf({ model }: Client): number {
  const { input, output, cacheRead } = large;
  const usage = { inputTokens: input + cacheRead, outputTokens: output, cacheReadTokens: cacheRead };
  return Math.round(prices.price({ model, ...usage })!.costUsd * 1_000_000);
}

export const stories: Readonly<Record<string, Story>> = {
  spiral: story(
    (_asked, client) => calls(client.shell('cat missing.txt')),
    async (on) => {
      const said = await mustBeHalted(on, await on.run(), 'tool_loop');
      assert.deepEqual(await booked(on), [6]);
      assert.ok(on.mock.turns() <= 8, `the model had ${on.mock.turns()} turns`);
      return `${said}; halted when call 6 was seen, the model had ${on.mock.turns()} turns`;
    },
  ),

  alternation: story(
    ({ step }, client) => calls(client.shell(step % 2 === 0 ? 'cat missing.txt' : 'node check.mjs')),
    async (on) => {
      const said = await mustBeHalted(on, await on.run(), 'tool_loop');
      const [own = 0] = await booked(on);
      assert.ok(own <= 12, `${own} calls`);
      return `${said}; halted at call ${own}`;
    },
  ),

  'alternating answers': story(
    ({ step }, client) => calls(client.shell(step % 2 === 0 ? 'cat README.md' : 'cat sum.mjs')),
    async (on) => {
      const said = await mustBeHalted(on, await on.run(), 'tool_loop');
      const [own = 0] = await booked(on);
      assert.ok(own <= 12, `${own} calls`);
      return `${said}; halted at call ${own}`;
    },
  ),

  spend: story(
    ({ step }, client) => ({ ...calls(useful(client, step)), tokens: large }),
    async (on, client) => {
      const finished = await on.run('--max-calls', '500');
      const said = await mustBeHalted(on, finished, 'token_spend_limit');
      const due = Math.floor(50_000_000 / costOf(client)) + 1; // The first call that goes beyond it.
      const turns = on.mock.turns();
      assert.ok(turns >= due && turns <= due + 1, `due after ${due} model calls, halted after ${turns}: ${said}`);
      return `${said}; due at model call ${due}, the model had ${turns} turns`;
    },
  ),

  silence: story(
    ({ step }, client) => (step < 2 ? calls(useful(client, step)) : { silent: true }),
    async (on) => `${await mustBeHalted(on, await on.run('--max-idle', '4s'), 'idle_timeout')}`,
  ),

  'many calls': story(
    ({ step }, client) => (step < 60 ? calls(useful(client, step)) : answer),
    async (on) => {
      const said = await mustBeHalted(on, await on.run(), 'tool_call_limit');
      assert.match(said, /51 of 50/);
      assert.deepEqual(await booked(on), [51]);
      return `${said}; the model had ${on.mock.turns()} turns`;
    },
  ),

  healthy: story(
    ({ step }, client) => (step < 8 ? calls(client.healthy[step]!) : answer),
    async (on) => {
      const finished = await on.run();
      mustEnd(finished, 0);
      assert.match(finished.out, /now it starts at 0/);
      assert.deepEqual(await booked(on), [8]);
      assert.deepEqual(await on.cards(), []);
      const unpriced = (await on.journal()).filter(({ type }) => type === 'price-unknown');
      assert.deepEqual(unpriced, []);
      return 'left alone; 8 calls read 8';
    },
  ),

  hooks: story(
    ({ step }, client) => (step < 8 ? calls(client.healthy[step]!) : answer),
    async (on, client) => {
      mustEnd(await on.switchgear('init', client.host), 0);
      mustEnd(await on.run(), 0);
      assert.ok(on.wereHooksAsked(), 'no hook was asked');
      assert.deepEqual(await booked(on), [8]);
      assert.deepEqual(await on.cards(), []);
      return 'left alone with hooks installed; 8 calls read 8';
    },
  ),

  'hooks refuse': story(
    (_asked, client) => calls(client.shell('cat missing.txt')),
    async (on, client) => {
      mustEnd(await on.switchgear('init', client.host), 0);
      const said = await mustBeHalted(on, await on.run(), 'tool_loop');
      const journal = await on.journal();
      const many = (type: string) => journal.filter((entry) => entry.type === type).length;
      const [own = 0] = await booked(on);
      // Codex does not show a call that was refused.
      assert.ok(own === 5 || own === 8, `${own} calls`);
      assert.deepEqual([many('action-refused'), many('task-halted'), many('task-ended')], [3, 1, 1]);
      return `${said}; 5 ran, 2 were refused, the third refusal halted`;
    },
  ),

  'hooks alone': story(
    ({ step, last }, client) =>
      last.includes('Switchgear halted') ? answer : { ...calls(useful(client, step)), tokens: large },
    async (on, client) => {
      mustEnd(await on.switchgear('init', client.host), 0);
      await on.alone('[task]\nmax_spend_cents = 300\n');
      assert.deepEqual(
        (await on.cards()).filter(({ kind }) => kind === 'halt').map(({ code }) => code),
        ['token_spend_limit'],
      );
      const due = Math.floor(3_000_000 / costOf(client)) + 1;
      const turns = on.mock.turns();
      assert.ok(turns >= due && turns <= due + 2, `due after ${due} model calls, refused after ${turns}`);
      return `spend halted by hooks alone; due at model call ${due}, the model had ${turns} turns`;
    },
  ),

  'slow tool': story(
    ({ step }, client) => (step === 0 ? calls(client.slow) : answer),
    async (on) => {
      const began = performance.now();
      // Codex takes five seconds to end after its answer where it cannot reach its vendor.
      mustEnd(await on.run('--max-idle', '8s'), 0);
      const seconds = (performance.now() - began) / 1000;
      assert.ok(seconds > 12, `it took ${seconds} s: the tool was not slow`);
      assert.deepEqual(await on.cards(), []);
      return 'left alone: 12 s of a tool under an idle limit of 8 s';
    },
  ),

  'fan-out': story(
    ({ step, errand, body }, client) => {
      if (errand !== undefined) {
        return step < 3 + errand ? calls(useful(client, errand * 10 + step)) : { text: `Errand ${errand} is done.` };
      }
      if (step === 0) return calls(...[1, 2, 3].map((n) => client.send(n)));
      if (client.wait === undefined) return step < 4 ? { text: `I wait for errand ${thing(step)}.` } : answer;
      const waiting = client.wait(body);
      return waiting === undefined ? answer : calls(waiting);
    },
    async (on, client) => {
      mustEnd(await on.run(), 0);
      assert.deepEqual(await on.cards(), []);
      const [own, ...below] = await booked(on);
      assert.deepEqual([...below].sort(), [4, 5, 6], `booked: ${own} and ${below}`);
      // Three that send, and those that wait: all its turns but the first and the last.
      const turns = on.asked.filter(({ errand }) => errand === undefined).length;
      assert.equal(own, client.wait === undefined ? 3 : 3 + turns - 2);
      return `left alone; ${own} calls of its own, ${below.join(', ')} of its subagents`;
    },
  ),

  'spiral below': story(
    ({ step, errand, body }, client) => {
      if (errand !== undefined) return calls(client.shell('cat missing.txt'));
      if (step === 0) return calls(client.send(1));
      const waiting = client.wait?.(body);
      return waiting === undefined ? answer : calls(waiting);
    },
    async (on) => {
      const said = await mustBeHalted(on, await on.run(), 'tool_loop');
      const [, below = 0] = await booked(on);
      assert.ok(below >= 6 && below <= 8, `${below} calls`);
      return `${said}; halted at call ${below} of the subagent`;
    },
  ),

  'unknown tool': story(
    () => calls({ tool: 'frobnicate', input: { depth: 1 } }),
    async (on) => {
      const said = await mustBeHalted(on, await on.run(), 'tool_loop');
      const [own = 0] = await booked(on);
      return `${said}; halted when call ${own} was seen, the model had ${on.mock.turns()} turns`;
    },
  ),

  'nothing survives': story(
    ({ step }, client) => calls(step === 0 ? client.shell(stray) : client.shell('cat missing.txt')),
    async (on) => {
      const watching = on.run();
      let seen = 0;
      const look = setInterval(() => {
        seen = Math.max(seen, strays().length);
      }, 20);
      const finished = await watching;
      clearInterval(look);
      await mustBeHalted(on, finished, 'tool_loop');
      assert.equal(seen, 1, 'the stray process was never there');
      assert.deepEqual(strays(), []);
      assert.deepEqual(named(on.folder), []);
      return /\d+ processe?s? w(as|ere) ended.*/.exec(finished.err)?.[0] ?? '';
    },
  ),

  retry: story(
    ({ last }, client) => (last.includes('Go on where you stopped') ? answer : calls(client.shell('cat missing.txt'))),
    async (on) => {
      await mustBeHalted(on, await on.run(), 'tool_loop');
      const [card] = await on.cards();
      const listed = await on.switchgear('inbox', 'list');
      assert.ok(listed.out.includes(card!.id), listed.out);
      const before = on.asked.length;
      const again = await on.switchgear('inbox', 'retry', card!.id);
      mustEnd(again, 0);
      assert.match(again.out, /now it starts at 0/);
      const { step, body } = on.asked[before]!;
      assert.ok(step >= 5 && body.includes('missing.txt'), `it began anew: ${step} turns are remembered`);
      assert.deepEqual(await on.cards(), []);
      return `${card!.id} listed; it went on with its own conversation of ${step} turns`;
    },
  ),
};
