/** The scenes about rules, approvals, denials and event storms. */

import { EventEmitter } from 'node:events';
import type { Refusal } from '../core/refusal.ts';
import { scriptedAgent } from '../testing/index.ts';
import { type AttemptMark, countRan, markAttempts, type Scene, summarizeScene } from './scene.ts';

const bigPayments = {
  target: 'tool:pay',
  condition: 'amount>500',
  action: 'confirm',
  reason: 'More than $500 needs a person.',
} as const;

const forbiddenShell: Scene = {
  title: 'The agent reads a file, then reaches for the shell, which a rule forbids.',
  short: 'reached for the shell',
  unprotected: 'rm -rf',
  expected: { code: 'rule_abort', attempts: 2, ran: 1 },
  async play(context) {
    const reason = 'No shell for this agent.';
    const gear = context.gear({ policy: { rules: [{ condition: 'ability:shell.*', action: 'abort', reason }] } });
    const tools = gear.guardAll({
      read_file: async (path: string) => `the text of ${path}`,
      'shell.execute': async (command: string) => `${command}: done`,
    });
    const agent = scriptedAgent([
      { tool: 'read_file', args: ['notes.md'] },
      { tool: 'shell.execute', args: ['rm -rf build'] },
    ]);
    const result = await gear.task({}, (task) => agent({ tools, task }));
    const marks = result.value === undefined ? [] : markAttempts(result.value);
    return {
      name: 'read, shell',
      marks,
      journal: gear.journal(),
      refusal: result.status === 'halted' ? result.halt : undefined,
      after: 'the shell never ran',
    };
  },
};

const unansweredPayment: Scene = {
  title: 'The agent wants to pay $750. A person is asked, and does not answer.',
  short: 'paid without a yes',
  unprotected: '$750 paid',
  expected: { code: 'rule_unanswered', attempts: 3, ran: 2 },
  async play(context) {
    const approver = { name: 'an empty chair', ask: () => new Promise<never>(() => {}) };
    const gear = context.gear({ approver, policy: { rules: [bigPayments] } });
    const paid: number[] = [];
    const pay = gear.guard('pay', async ({ amount }: { amount: number }) => paid.push(amount));
    const agent = scriptedAgent([40, 750, 25].map((amount) => ({ tool: 'pay', args: [{ amount }] })));
    const running = gear.task({}, (task) => agent({ tools: { pay }, task }));
    await context.clock.elapse(150_000);
    const { value } = await running;
    return {
      name: 'pay',
      marks: value === undefined ? [] : markAttempts(value),
      journal: gear.journal(),
      refusal: value?.refusals[0],
      after: `paid ${paid.map((amount) => `$${amount}`).join(', ')}`,
    };
  },
};

const denyLoop: Scene = {
  title: 'Refused, the agent tries other amounts of the same payment, over and over.',
  short: 'asked for the same in pieces',
  unprotected: '200 calls',
  expected: { code: 'denial_limit', attempts: 5, ran: 0 },
  async play(context) {
    const gear = context.gear({ policy: { rules: [bigPayments] } });
    const pay = gear.guard('pay', async ({ amount }: { amount: number }) => `paid ${amount}`);
    const steps = Array.from({ length: 200 }, (_, step) => ({ tool: 'pay', args: [{ amount: 900 - step }] }));
    const result = await gear.task({}, (task) => scriptedAgent(steps)({ tools: { pay }, task }));
    return summarizeScene(gear, 'pay', result);
  },
};

const mailBurst: Scene = {
  title: 'The agent sends one mail after another. A rule lets three go out in a minute.',
  short: 'sent mail in a hurry',
  unprotected: '6 mails',
  expected: { code: 'rule_throttled', attempts: 6, ran: 3 },
  async play(context) {
    const reason = 'Three mails a minute are enough.';
    const rule = { target: 'tool:send_mail', condition: 'frequency>3/1m', action: 'throttle', reason } as const;
    const gear = context.gear({ policy: { rules: [rule] } });
    const send_mail = gear.guard('send_mail', async (to: string) => `sent to ${to}`);
    const agent = scriptedAgent(
      ['ann', 'ben', 'cem', 'dee', 'eli', 'fay'].map((to) => ({ tool: 'send_mail', args: [to] })),
    );
    const { value } = await gear.task({}, (task) => agent({ tools: { send_mail }, task }));
    const marks = value === undefined ? [] : markAttempts(value);
    const refusal = value?.refusals[0];
    return { name: 'send_mail', marks, journal: gear.journal(), refusal, after: `${countRan(marks)} mails` };
  },
};

const runawayWatcher: Scene = {
  title: 'The agent logs into the folder it watches: each event causes the next.',
  short: 'watched its own log',
  unprotected: '5,000 events',
  expected: { code: 'storm', attempts: 1_001, ran: 1_000 },
  async play(context) {
    const gear = context.gear();
    const folder = new EventEmitter();
    const marks: AttemptMark[] = [];
    let refusal: Refusal | undefined;
    const options = {
      onTrip: (storm: Refusal) => {
        refusal = storm;
        marks.push('halted');
      },
    };
    gear.watch('logs/', folder, () => marks.push('ran'), options);
    for (let event = 0; event < 5_000; event++) folder.emit('change', 'change', 'agent.log');
    return {
      name: 'logs/',
      marks,
      journal: gear.journal(),
      refusal,
      after: `${countRan(marks).toLocaleString('en')} events`,
    };
  },
};

export const forbiddenActionScenes: readonly Scene[] = [
  forbiddenShell,
  unansweredPayment,
  mailBurst,
  denyLoop,
  runawayWatcher,
];
