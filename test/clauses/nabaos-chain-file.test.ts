import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  type Chain,
  chainRules,
  evaluateCondition,
  fillTemplates,
  readChain,
  readParams,
} from '../../src/chains/index.ts';
import { BreakerRegistry } from '../../src/compat/index.ts';

/** The file of the document, as it stands there. */
const sample = readFileSync(new URL('../fixtures/seed-chain.yaml', import.meta.url), 'utf8');

function chainOf(text: string): Chain {
  return (readChain(text, 'sample.yaml').chain ?? {
    id: '',
    params: [],
    rules: [],
    steps: [],
    ruleSettings: {},
  }) as Chain;
}

/** A registry with the rules of the sample, filled in. */
function guarded(maxSpend: unknown): BreakerRegistry {
  const chain = chainOf(sample);
  const registry = new BreakerRegistry();
  const params = readParams(chain, { ticker: 'ACME', max_spend: maxSpend, buy_threshold: 10 });
  for (const rule of chainRules(chain, params)) registry.register(chain.id, rule);
  return registry;
}

const evaluate = (registry: BreakerRegistry, amount: string, ability = 'trading.get_price') =>
  registry.evaluate({ chainId: 'price_alert_trade', ability, outputs: { amount }, atMs: 0 });

test('N39: the rules of a chain file are the list circuit_breakers, with condition, action and reason', () => {
  const target = 'chain:price_alert_trade';
  assert.deepEqual(
    chainOf(sample).rules.map(({ condition, action, reason }) => [condition, action, reason]),
    [
      ['amount>{{max_spend}}', 'abort', `Trade amount exceeds maximum spend of $${'{{max_spend}}'}`],
      ['frequency>3/1d', 'throttle', 'Maximum 3 auto-trades per day'],
      ['ability:trading.execute', 'confirm', 'Confirm before executing trade'],
    ],
  );
  assert.deepEqual(new Set(chainOf(sample).rules.map((rule) => rule.target)), new Set([target]));
  assert.equal(evaluate(guarded(500), '1', 'trading.execute').action, 'confirm');
});

test('N40: a parameter in a condition is filled from the parameters of the run', () => {
  assert.equal(evaluate(guarded(500), '600').action, 'abort');
  assert.equal(evaluate(guarded('500'), '500').action, null);
  assert.equal(evaluate(guarded(700), '600').action, null);
  assert.equal(evaluate(guarded(700), '701').action, 'abort');
});

test('N41: a parameter in a reason is filled too', () => {
  assert.equal(evaluate(guarded(500), '600').reason, 'Trade amount exceeds maximum spend of $500');
});

test('N42: every field of the sample file is read and means something', () => {
  const chain = chainOf(sample);
  assert.deepEqual([chain.id, chain.name], ['price_alert_trade', 'Price Alert with Auto-Trade']);
  assert.equal(chain.description, 'Monitor price and execute trade if conditions met');
  assert.deepEqual(chain.params, [
    { name: 'ticker', type: 'text', required: true, description: 'Stock ticker symbol' },
    { name: 'max_spend', type: 'number', required: true, description: 'Maximum dollar amount per trade' },
  ]);
  const [fetch, trade] = chain.steps;
  assert.deepEqual(
    [fetch?.id, fetch?.ability, fetch?.outputKey],
    ['fetch_price', 'trading.get_price', 'current_price'],
  );
  assert.deepEqual([trade?.id, trade?.ability, trade?.outputKey], ['execute_trade', 'trading.execute', 'trade_result']);
  const params = readParams(chain, { ticker: 'ACME', max_spend: '500', buy_threshold: '10' });
  const scope = { params, outputs: { current_price: '9.5' } };
  assert.deepEqual(fillTemplates(fetch?.args, scope), { symbol: 'ACME' });
  assert.deepEqual(fillTemplates(trade?.args, scope), { symbol: 'ACME', amount: 500 });
  assert.deepEqual(trade?.condition, { refKey: 'current_price', op: 'less_than', value: '{{buy_threshold}}' });
  assert.equal(evaluateCondition(trade.condition, scope), true);
  assert.equal(evaluateCondition(trade.condition, { params, outputs: { current_price: '10' } }), false);
});
