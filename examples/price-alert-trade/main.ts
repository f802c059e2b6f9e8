/** A chain that buys: only below a price, only for what may be spent, only after a yes, and at most thrice a day. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Approver } from 'switchgear/approvers';
import { createChains, loadChain, mcpAbilities } from 'switchgear/chains';

const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'price-alert-'));
const trades = join(folder, 'trades.jsonl');

/** Whoever is asked; here they say what the story wants. */
let says = true;
const person: Approver = {
  name: 'story',
  async ask(card) {
    console.log(`  asked: ${card.evidence.join(' | ')}: ${says ? 'yes' : 'no'}`);
    return { approved: says, by: 'ann' };
  },
};

const config: unknown = JSON.parse(readFileSync(join(here, 'mcp.json'), 'utf8'));
const env = { ...process.env, EXAMPLE_NODE: process.execPath, TRADES: trades };
const chains = createChains({ abilities: [mcpAbilities(config, { cwd: here, env })], approver: person, log: 'silent' });
const chain = loadChain(join(here, 'chain.yaml'));

try {
  const bought = await chains.run(chain, { ticker: 'ACME', buy_threshold: 100 });
  assert.equal(bought.status, 'done');
  assert.deepEqual((await chains.outputs(bought.id)).execute_trade, { symbol: 'ACME', shares: 11, amount: 1000 });
  console.log('bought 11 shares, as a person said yes');

  says = false;
  const declined = await chains.run(chain, { ticker: 'ACME', buy_threshold: 100 });
  assert.deepEqual([declined.status, declined.end?.code], ['aborted', 'rule_declined']);
  console.log(`stopped: ${declined.end?.message}`);

  const dear = await chains.run(chain, { ticker: 'GLOBEX', buy_threshold: 100 });
  assert.deepEqual([dear.status, dear.steps[1]?.status], ['done', 'skipped']);
  console.log(`skipped: ${dear.steps[1]?.reason}`);

  const fourth = await chains.run(chain, { ticker: 'ACME', buy_threshold: 100 });
  assert.equal(fourth.status, 'throttled');
  console.log(`throttled: ${fourth.end?.message}`);

  assert.equal(readFileSync(trades, 'utf8'), '{"symbol":"ACME","shares":11,"amount":1000}\n');
} finally {
  await chains.close();
  rmSync(folder, { recursive: true, force: true });
}
