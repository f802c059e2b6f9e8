/** A store as a busy team has it: halted agents, questions, breakers in every state, tasks, chains and a history. */

import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cardApprover } from '../../src/approvers/index.ts';
import { createChains } from '../../src/chains/index.ts';
import type { Card } from '../../src/core/card.ts';
import { createSwitchgear, type Switchgear, type Task } from '../../src/index.ts';
import { machineClock } from '../../src/platform/machine-clock.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { SqliteStore } from '../../src/stores/sqlite/index.ts';
import { chainOf, counting, step } from '../chains/run/run-setup.ts';
import { until } from '../supervisor/processes.ts';
import type { Served } from './served-page.ts';

/** Plays everything; what waits for a person goes on waiting until `end`. */
export async function playStage(served: Served): Promise<{ end(): void }> {
  const past = createPast();
  const store = served.openStore(past.clock);
  const approver = cardApprover({ store });
  const gear = createSwitchgear({
    ...{ agent: 'billing', project: 'invoicing', store, approver, log: 'silent', env: {} },
    policy: {
      circuit_breaker: { failure_threshold: 3, recovery_timeout_secs: 900 },
      journal: { level: 'all' },
      approval: { timeout_secs: 1_800 },
      tools: { 'crm.lookup': { recovery_timeout_secs: 1 } },
      rules: [
        {
          target: 'pay_invoice',
          condition: 'ability:pay_invoice',
          action: 'confirm',
          reason: 'payments need a person',
        },
        { target: 'send_email', condition: 'ability:send_email', action: 'confirm', reason: 'mail to customers' },
      ],
    },
  });
  const ago: Ago = async (secs, act) => {
    past.goBack(secs, act);
    await store.shared.settled();
    past.comeBack();
  };
  await playTasks(gear, ago);
  await playBreakers(gear, ago);
  await playHistory(served, gear, store);
  playQuestions(gear);
  await playChains(served, store);
  const agents = [
    served.startAgent(['--max-calls', '50', '--', 'claude', '-p', 'calls 60']),
    served.startAgent(['--max-spend', '5', '--', 'claude', '-p', 'spend 1']),
    served.startAgent(['--', 'codex', 'exec', 'spiral']),
    served.startAgent(['--', 'claude', '-p', 'calls 12,silent']),
  ];
  for (const { err } of agents.slice(0, 3)) await until(() => err().includes('next:'));
  await store.shared.settled();
  return {
    end() {
      for (const { child } of agents) child.kill('SIGKILL');
      gear.dispose();
    },
  };
}

async function playHistory(served: Served, gear: Switchgear, store: SqliteStore): Promise<void> {
  const answers = [
    ['approve', 'INV-2026-0117', []],
    ['decline', 'INV-2026-0118', ['--note', 'the supplier changed its bank account: call them first']],
  ] as const;
  for (const [answer, invoice, note] of answers) {
    const pay = gear.guard('pay_invoice', async (_order: object) => invoice);
    const asked = gear.task({ id: `invoices-${invoice}` }, () => pay({ invoice, amount: 1250 }));
    let card: Card | undefined;
    while (card === undefined) {
      await sleep(20);
      card = store.cards().find(({ kind, state }) => kind === 'ask' && state === 'open');
    }
    await decide(served, [answer, card.id, ...note]);
    await asked;
  }
}

/** Answers a card as a person does in a terminal. */
async function decide(served: Served, words: readonly string[]): Promise<void> {
  const { code, out, err } = await served.run(['inbox', ...words]);
  if (code !== 0) throw new Error(out + err);
}

/** Plays something as if it had happened so many seconds ago. */
type Ago = (secs: number, act: () => void) => Promise<void>;

/** A clock that can be set back: wholly while something is played, and by its wall time until that is written. */
function createPast() {
  let nowBackMs = 0;
  let wallBackMs = 0;
  const clock: Clock = {
    ...machineClock,
    nowMs: () => machineClock.nowMs() - nowBackMs,
    wallMs: () => machineClock.wallMs() - wallBackMs,
  };
  return {
    clock,
    goBack(secs: number, act: () => void) {
      nowBackMs = wallBackMs = secs * 1_000;
      act();
      nowBackMs = 0; // Leases are written in the time of all processes.
    },
    comeBack() {
      wallBackMs = 0;
    },
  };
}

async function playBreakers(gear: Switchgear, ago: Ago): Promise<void> {
  const fail = (name: string, error: Error) => () => {
    try {
      gear.run(name, () => {
        throw error;
      });
    } catch {
      // The error of the tool.
    }
  };
  const timeout = Object.assign(new Error('no answer in 30 s'), { name: 'TimeoutError' });
  for (const secs of [520, 410, 400, 300, 290, 120]) await ago(secs, fail('web_search', timeout));
  for (const secs of [560, 330, 250, 180, 60, 50]) await ago(secs, fail('github.create_issue', new Error('502')));
  for (const secs of [480, 200]) await ago(secs, fail('erp.export', new Error('503')));
  await ago(150, () => gear.run('erp.export', () => 'exported'));
  for (const secs of [45, 40, 35]) await ago(secs, fail('crm.lookup', new TypeError('fetch failed')));
  await ago(90, fail('sms.send', new Error('504')));
  gear.breaker('sms.send').hold('the vendor is down until Monday');
  // The first probe of a breaker that needs two successes leaves it half-open.
  while ((await gear.run('crm.lookup', () => 'found')) !== 'found') await sleep(100);
}

async function playTasks(gear: Switchgear, ago: Ago): Promise<void> {
  const limits = { maxToolCalls: 40, maxSpendCents: 500, maxIdleSecs: 900 };
  let supplier!: Task;
  let reader!: Task;
  const read = (count: number) => {
    for (let at = 0; at < count; at++) gear.run('read_file', () => `page ${at}`);
  };
  const spend = (costUsd: number) =>
    supplier.observe({ type: 'usage', costUsd, inputTokens: costUsd * 50_000, outputTokens: 2_000 });
  const failRates = () => {
    try {
      gear.run('currency_rates', () => {
        throw new Error('504');
      });
    } catch {
      // The error of the tool.
    }
  };
  const story: [number, () => void][] = [
    [
      420,
      () => {
        supplier = gear.startTask({ id: 'supplier-report', limits });
        supplier.run(() => read(4));
      },
    ],
    [
      310,
      () => {
        const place = { id: 'supplier-report/reader', parent: 'supplier-report', agent: 'reader' };
        reader = gear.startTask({ ...place, limits: { maxIdleSecs: 900 } });
        reader.run(() => read(2));
      },
    ],
    [60, () => supplier.run(() => gear.run('currency_rates', () => 'refused'))],
    [40, () => spend(0.8)],
  ];
  for (const [secs, costUsd] of [
    [400, 0.6],
    [345, 0.9],
    [270, 0.7],
    [170, 1.1],
  ] as const) {
    story.push([secs, () => spend(costUsd)]);
    story.push([secs - 12, () => supplier.run(() => read(6))]);
  }
  for (const secs of [230, 140]) story.push([secs, () => reader.run(() => read(2))]);
  for (const secs of [205, 190, 100]) story.push([secs, () => supplier.run(failRates)]);
  for (const [secs, act] of story.toSorted(([one], [other]) => other - one)) await ago(secs, act);
  await ago(15, () => {
    supplier.run(() => read(1));
    reader.run(() => void gear.run('web_search', () => 'found'));
  });
}

function playQuestions(gear: Switchgear): void {
  const ask = (id: string, name: string, args: object) => {
    const tool = gear.guard(name, async (_args: object) => 'done');
    void gear.task({ id }, () => tool(args));
  };
  ask('invoices-INV-2026-0131', 'pay_invoice', {
    ...{ invoice: 'INV-2026-0131', to: 'Nordwind Logistics GmbH', amount: 4820.5, currency: 'EUR' },
    api_key: 'sk-live-4f9a8b7c6d5e4f3a2b1c',
  });
  for (const customer of ['a', 'b', 'c'])
    ask(`reminders-${customer}`, 'send_email', { template: 'second reminder', to: 'accounts@example.com' });
}

async function playChains(served: Served, store: SqliteStore): Promise<void> {
  const chains = createChains({
    ...{ abilities: [counting()], store, log: 'silent', env: {} },
    policy: { approval: { timeout_secs: 1_800 } },
  });
  const digest = chainOf(['collect', 'summarise', 'store_result'], [], { id: 'daily_digest' });
  await chains.run(digest, {}, { id: 'digest-monday' });
  const rules = ['ability:execute_trade|confirm|Confirm before executing the trade'];
  const trade = chainOf(['fetch_price', step('execute_trade', { args: { symbol: 'ACME', amount: 500 } })], rules, {
    id: 'price_alert',
  });
  await chains.run(trade, {}, { id: 'alert-acme', wait: false });
  const mail = ['ability:send_report|confirm|the report leaves the company'];
  const weekly = chainOf(['collect', 'send_report'], mail, { id: 'weekly_report' });
  const { card } = await chains.run(weekly, {}, { id: 'report-46', wait: false });
  await decide(served, ['approve', card!, '--for', 'always']);
  await chains.resume('report-46', { wait: false });
  await playDoubt(served, 'payout-november');
}

/** A chain run whose process is killed in the middle of a step that must not be repeated. */
export async function playDoubt(served: Served, id: string): Promise<void> {
  const file = join(served.folder, 'payout.yaml');
  const policy = join(served.folder, 'shell.toml');
  writeFileSync(policy, '[abilities]\nshell = true\n');
  const begun = join(served.folder, `${id}.begun`);
  const command = `touch ${begun}; sleep 60`;
  writeFileSync(
    file,
    [
      'id: payout',
      'steps:',
      '  - id: prepare',
      '    ability: shell.execute',
      '    args: { command: "true" }',
      '  - id: transfer',
      '    ability: shell.execute',
      `    args: { command: ${JSON.stringify(command)} }`,
      '',
    ].join('\n'),
  );
  const run = served.start(['chain', 'run', file, '--id', id, '--policy', policy]);
  await until(() => existsSync(begun) || run.child.exitCode !== null);
  if (run.child.exitCode !== null) throw new Error(run.out() + run.err());
  run.child.kill('SIGKILL');
  await once(run.child, 'exit');
  await served.run(['chain', 'resume', id, '--policy', policy]);
}
