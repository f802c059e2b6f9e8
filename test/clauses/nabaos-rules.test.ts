import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BreakerRegistry, type BreakerStep, type Evaluation, parseNyaya, parseRule } from '../../src/compat/index.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A registry with rules on the chain `trade`. */
function guarded(...lines: readonly string[]): BreakerRegistry {
  const registry = new BreakerRegistry();
  for (const line of lines) registry.register('trade', line);
  return registry;
}

function evaluate(registry: BreakerRegistry, more: Partial<BreakerStep> = {}): Evaluation {
  return registry.evaluate({ chainId: 'trade', ability: 'trading.get_price', outputs: {}, atMs: 0, ...more });
}

function at(line: string, outputs: Record<string, string>): Evaluation {
  return evaluate(guarded(line), { outputs });
}

/** Runs a chain: before each step the rules are asked; an abort ends it with the reason. */
function runChain(
  registry: BreakerRegistry,
  steps: readonly (readonly [ability: string, outputs: Record<string, string>])[],
) {
  const ran: string[] = [];
  let outputs: Record<string, string> = {};
  for (const [ability, result] of steps) {
    const { action, reason } = evaluate(registry, { ability, outputs });
    if (action === 'abort') return { ran, error: reason };
    ran.push(ability);
    outputs = { ...outputs, ...result };
  }
  return { ran, error: undefined };
}

/** Notes runs one second apart and says at which of them the rule fired. */
function firings(line: string, runs: number, everyMs = second): number[] {
  const registry = guarded(line);
  const fired: number[] = [];
  for (let run = 1; run <= runs; run++) {
    registry.recordExecution('trade', run * everyMs);
    if (evaluate(registry, { atMs: run * everyMs }).fired.length > 0) fired.push(run);
  }
  return fired;
}

/** Whether one run and another after a while are more than one in the window. */
function firesAfter(line: string, laterMs: number): boolean {
  const registry = guarded(line);
  registry.recordExecution('trade', 0);
  registry.recordExecution('trade', laterMs);
  return evaluate(registry, { atMs: laterMs }).action === 'throttle';
}

test('N1: rules on a chain halt it, pause it or limit its rate', () => {
  assert.equal(evaluate(guarded('ability:trading.*|abort')).action, 'abort');
  assert.equal(evaluate(guarded('ability:trading.*|confirm')).action, 'confirm');
  assert.equal(evaluate(guarded('ability:trading.*|throttle')).action, 'throttle');
  assert.equal(evaluate(guarded('ability:mail.*|abort')).action, null);
});

test('N2: rules are checked before each step, so the step after the offending output never starts', () => {
  const registry = guarded('output:verdict|contains:stop|abort');
  const { ran } = runChain(registry, [
    ['first', { verdict: 'go' }],
    ['second', { verdict: 'stop' }],
    ['third', {}],
  ]);
  assert.deepEqual(ran, ['first', 'second']);
});

test('N3: a rule check uses the chain id, the outputs so far and the ability of the next step', () => {
  const registry = guarded('ability:pay|abort|"ability"', 'output:k|contains:x|abort|"output"');
  assert.equal(evaluate(registry, { ability: 'pay' }).reason, 'ability');
  assert.equal(evaluate(registry, { outputs: { k: 'x' } }).reason, 'output');
  assert.equal(evaluate(registry, { chainId: 'other', ability: 'pay', outputs: { k: 'x' } }).action, null);
});

test('N4: every matching rule fires and the strictest action is applied', () => {
  const registry = guarded('a>1|throttle', 'a>2|confirm', 'a>3|abort', 'a>9|abort');
  assert.deepEqual(
    evaluate(registry, { outputs: { a: '5' } }).fired.map((one) => one.action),
    ['throttle', 'confirm', 'abort'],
  );
  assert.equal(evaluate(registry, { outputs: { a: '5' } }).action, 'abort');
  assert.equal(evaluate(registry, { outputs: { a: '3' } }).action, 'confirm');
  assert.equal(evaluate(registry, { outputs: { a: '1' } }).action, null);
});

test('N5: an amount of "750" over 500 stops the chain', () => {
  const registry = new BreakerRegistry({ onMissing: 'pending' });
  registry.register('trade', 'amount>500|abort');
  const run = (amount: string) =>
    runChain(registry, [
      ['price', { amount }],
      ['order', {}],
    ]);
  assert.deepEqual(run('750'), { ran: ['price'], error: 'amount 750 exceeds threshold 500' });
  assert.deepEqual(run('450'), { ran: ['price', 'order'], error: undefined });
});

test('N6: without a written reason the key, the value and the threshold are the reason', () => {
  assert.equal(at('amount>500|abort', { amount: '750' }).reason, 'amount 750 exceeds threshold 500');
  assert.equal(at('amount>500|abort|"written"', { amount: '750' }).reason, 'written');
});

test('N7: outputs are text and are compared as numbers', () => {
  assert.equal(at('amount>500|abort', { amount: '1000' }).action, 'abort', 'not by the alphabet');
  assert.equal(at('amount>500|abort', { amount: '9' }).action, null);
  assert.equal(at('amount>-2.5|abort', { amount: ' -1e0 ' }).action, 'abort');
});

test('N8: a threshold fires above its value', () => {
  assert.equal(at('amount>1000|abort', { amount: '1000.01' }).action, 'abort');
  assert.equal(at('amount>1000|abort', { amount: '999.99' }).action, null);
});

test('N9: a value equal to the threshold does not fire, the next one does', () => {
  assert.equal(at('amount>1000|abort', { amount: '1000' }).action, null);
  assert.equal(at('amount>1000|abort', { amount: '1e3' }).action, null);
  assert.equal(at('amount>1000|abort', { amount: '1001' }).action, 'abort');
});

test('N10: a rule on a missing key fires, and its reason says so', () => {
  const { action, reason } = at('amount>500|abort', { other: '1' });
  assert.equal(action, 'abort');
  assert.match(reason, /amount is missing.*500/);
  assert.equal(at('constructor>5|abort', {}).action, 'abort', 'what a prototype has is missing, too');
  assert.equal(at('amount>500|abort', { amount: '1' }).action, null);
});

test('N11: a threshold rule fires on a value that is not a valid number', () => {
  for (const amount of ['NaN', '', ' ', '0x10', '750abc', 'Infinity', 'null', 'lots', '1e999', '1,0']) {
    const { action, reason } = at('amount>500|abort', { amount });
    assert.equal(action, 'abort', `"${amount}"`);
    assert.match(reason, /amount is not a number.*500/);
  }
  assert.equal(at('amount>500|abort', { amount: null as unknown as string }).action, 'abort');
  assert.equal(at('amount>500|abort', { amount: '16' }).action, null);
});

test('N12: the eleventh run of frequency>10 fires, the tenth does not', () => {
  assert.deepEqual(firings('frequency>10/1h|throttle', 12), [11, 12]);
});

test('N13: a frequency window can be in seconds', () => {
  assert.ok(firesAfter('frequency>1/30s|throttle', 30 * second - 1));
  assert.ok(!firesAfter('frequency>1/30s|throttle', 30 * second));
});

test('N14: a frequency window can be in minutes', () => {
  assert.ok(firesAfter('frequency>1/15m|throttle', 15 * minute - 1));
  assert.ok(!firesAfter('frequency>1/15m|throttle', 15 * minute));
});

test('N15: a frequency window can be in hours', () => {
  assert.ok(firesAfter('frequency>1/1h|throttle', hour - 1));
  assert.ok(!firesAfter('frequency>1/1h|throttle', hour));
});

test('N16: a frequency window can be in days', () => {
  assert.ok(firesAfter('frequency>1/1d|throttle', day - 1));
  assert.ok(!firesAfter('frequency>1/1d|throttle', day));
});

test('N17: runs are counted for each chain separately', () => {
  const registry = guarded('frequency>1/1h|throttle');
  registry.register('other', 'frequency>1/1h|throttle');
  for (const chainId of ['trade', 'trade', 'other']) registry.recordExecution(chainId, 0);
  assert.equal(evaluate(registry).action, 'throttle');
  assert.equal(evaluate(registry, { chainId: 'other' }).action, null);
});

test('N18: the history of a chain holds 10,000 runs, and the 10,001st pushes out the oldest', () => {
  const registry = guarded('frequency>9999/1d|throttle');
  for (let run = 0; run < 9_999; run++) registry.recordExecution('trade', run);
  assert.equal(evaluate(registry, { atMs: 9_999 }).action, null);
  registry.recordExecution('trade', 9_999);
  assert.equal(evaluate(registry, { atMs: 9_999 }).action, 'throttle');
  assert.equal(registry.executions('trade'), 10_000);
  registry.recordExecution('trade', 10_000);
  assert.equal(registry.executions('trade'), 10_000);
  assert.equal(evaluate(registry, { atMs: day }).action, 'throttle');
  assert.equal(
    evaluate(registry, { atMs: day + 1 }).action,
    null,
    'the run at 0 went for the last one, the one at 1 by age',
  );
});

test('N19: the window of a frequency rule slides', () => {
  const registry = guarded('frequency>2/1h|throttle');
  for (const atMs of [50 * minute, 55 * minute]) registry.recordExecution('trade', atMs);
  registry.recordExecution('trade', 65 * minute);
  assert.equal(evaluate(registry, { atMs: 65 * minute }).action, 'throttle', 'across the full hour');
  assert.equal(evaluate(registry, { atMs: 110 * minute }).action, null);
});

test('N20: a rule on an ability fires before the ability runs', () => {
  const { ran, error } = runChain(guarded('ability:email.send|abort|"no mail"'), [
    ['draft', {}],
    ['email.send', {}],
  ]);
  assert.deepEqual([ran, error], [['draft'], 'no mail']);
});

test('N21: a rule on one ability does not fire for other abilities', () => {
  const registry = guarded('ability:email.send|confirm');
  assert.equal(evaluate(registry, { ability: 'email.send' }).action, 'confirm');
  for (const ability of ['email.read', 'email.send.later', 'email', 'Email.send', 'email_send']) {
    assert.equal(evaluate(registry, { ability }).action, null, ability);
  }
});

test('N22: a rule on an output fires if the output contains the text', () => {
  assert.equal(at('output:error_msg|contains:fail|abort', { error_msg: 'it failed' }).action, 'abort');
  assert.equal(at('output:error_msg|contains:fail|abort', { error_msg: 'fine' }).action, null);
  assert.equal(at('output:error_msg|contains:fail|abort', { other: 'it failed' }).action, null);
});

test('N23: the line of an output rule has four parts', () => {
  const { rule } = parseRule('B:output:error_msg|contains:fail|confirm|"a | b"');
  assert.deepEqual(rule?.condition, { kind: 'output', key: 'error_msg', contains: 'fail' });
  assert.deepEqual([rule?.action, rule?.reason], ['confirm', 'a | b']);
  const { rules, errors } = parseNyaya('<nyaya>\nB:output:error_msg|contains:fail|abort|"It broke"\n</nyaya>');
  assert.deepEqual(errors, []);
  const registry = new BreakerRegistry();
  for (const one of rules) registry.register('trade', one);
  assert.equal(evaluate(registry, { outputs: { error_msg: 'it failed' } }).reason, 'It broke');
});

test('N24: a contains rule does not fire on a missing output, and fires once the output is there', () => {
  assert.equal(at('output:error_msg|contains:fail|abort', {}).action, null);
  assert.equal(at('output:error_msg|contains:fail|abort', { error_msg: 'fail' }).action, 'abort');
});

test('N25: there are exactly three actions', () => {
  for (const action of ['abort', 'confirm', 'throttle'] as const)
    assert.equal(at(`a>1|${action}`, { a: '2' }).action, action);
  for (const action of ['halt', 'Abort', 'ABORT', 'warn', '']) {
    assert.match(parseRule(`a>1|${action}`).error ?? '', /abort, confirm or throttle/);
    assert.throws(() => guarded(`a>1|${action}`), { code: 'invalid_rule' });
  }
});

test('N26: after an abort no further step runs', () => {
  const { ran } = runChain(guarded('output:k|contains:bad|abort'), [
    ['one', { k: 'bad' }],
    ['two', { k: 'good' }],
    ['three', {}],
  ]);
  assert.deepEqual(ran, ['one']);
});

test('N27: the error carries the reasons of all rules that aborted', () => {
  const registry = guarded('a>1|abort|"first reason"', 'a>2|confirm|"not this"', 'b>1|abort|"second reason"');
  assert.equal(runChain(registry, [['one', {}]]).error, 'first reason; second reason');
  assert.equal(evaluate(registry, { outputs: { a: '0', b: '0' } }).reason, '');
});

test('N33: a throttled run may start after the reported time', () => {
  const registry = guarded('frequency>2/1h|throttle');
  for (const atMs of [0, 10 * minute, 20 * minute]) registry.recordExecution('trade', atMs);
  const { action, retryAfterMs } = evaluate(registry, { atMs: 20 * minute });
  assert.equal(action, 'throttle');
  assert.equal(retryAfterMs, 50 * minute);
  const again = 20 * minute + (retryAfterMs ?? 0);
  registry.recordExecution('trade', again);
  assert.equal(evaluate(registry, { atMs: again }).action, null);
});

test('N34: a line is condition, action and quoted reason, with or without B:', () => {
  for (const line of ['B:amount>1000|abort|"Too much"', 'amount>1000|abort|"Too much"']) {
    const { rule } = parseRule(line);
    assert.deepEqual(rule?.condition, { kind: 'threshold', key: 'amount', value: 1000 });
    assert.deepEqual([rule?.action, rule?.reason], ['abort', 'Too much']);
    assert.equal(at(line, { amount: '1001' }).reason, 'Too much');
  }
  assert.throws(
    () => guarded('B:amount>1000'),
    { code: 'invalid_rule' },
    'a rule that cannot be read is never dropped',
  );
});

const sample = [
  '<nyaya>',
  'D:trading|medium',
  'G:ability:trading.execute,ability:trading.get_price',
  'B:amount>1000|abort|"Transaction exceeds $1000 limit"',
  'B:frequency>5/1h|throttle|"Max 5 trades per hour"',
  'B:ability:trading.execute|confirm|"Confirm before executing trade"',
  '</nyaya>',
].join('\n');

function fromBlock(text: string): BreakerRegistry {
  const registry = new BreakerRegistry();
  const { rules, errors } = parseNyaya(text);
  assert.deepEqual(errors, []);
  for (const rule of rules) registry.register('trade', rule);
  return registry;
}

test('N35: rules are read from the <nyaya> block in the text of a model', () => {
  const registry = fromBlock(`I will trade.\n${sample}\nShall I begin?\nB:amount>1|abort|"outside the block"`);
  assert.equal(evaluate(registry, { outputs: { amount: '1001' } }).action, 'abort');
  assert.equal(evaluate(registry, { outputs: { amount: '2' } }).action, null);
  assert.match(parseNyaya('<nyaya>\nB:amount>1|abort').errors.join(), /not closed/);
});

test('N36: lines of other kinds do not break the block', () => {
  const { lines, rules, errors } = parseNyaya(sample.replace('D:', 'X:whatever\nNEW:plan\n\nD:'));
  assert.deepEqual([rules.length, errors.length], [3, 0]);
  assert.equal(lines.domain, 'trading|medium');
  assert.equal(lines.goals, 'ability:trading.execute,ability:trading.get_price');
});

test('N37: a reason keeps dollar signs and spaces, without its quotes', () => {
  assert.equal(evaluate(fromBlock(sample), { outputs: { amount: '1001' } }).reason, 'Transaction exceeds $1000 limit');
});

test('N38: every rule of a block applies', () => {
  const registry = fromBlock(sample);
  for (let run = 0; run < 6; run++) registry.recordExecution('trade', 0);
  const { fired, action } = evaluate(registry, { ability: 'trading.execute', outputs: { amount: '1001' } });
  assert.deepEqual(
    fired.map((one) => one.action),
    ['abort', 'throttle', 'confirm'],
  );
  assert.equal(action, 'abort');
});

test('N43: a rule with the target * applies to every chain', () => {
  const registry = new BreakerRegistry();
  registry.register('*', 'ability:shell.execute|abort');
  for (const chainId of ['trade', 'other', 'chain-made-later']) {
    assert.equal(evaluate(registry, { chainId, ability: 'shell.execute' }).action, 'abort');
    assert.equal(evaluate(registry, { chainId, ability: 'shell' }).action, null);
  }
});

test('N44: a rule of one chain does not apply to other chains', () => {
  const registry = guarded('ability:shell.execute|abort');
  assert.equal(evaluate(registry, { ability: 'shell.execute' }).action, 'abort');
  for (const chainId of ['other', 'trade2', 'Trade']) {
    assert.equal(evaluate(registry, { chainId, ability: 'shell.execute' }).action, null);
  }
});

test('N45: the shell can be forbidden everywhere', () => {
  const registry = new BreakerRegistry();
  registry.registerGlobal('B:ability:shell.execute|abort|"Shell execution is forbidden"');
  const { ran, error } = runChain(registry, [
    ['read', {}],
    ['shell.execute', {}],
  ]);
  assert.deepEqual([ran, error], [['read'], 'Shell execution is forbidden']);
});

test('N46: threshold, frequency and confirm rules work together on one chain', () => {
  const registry = fromBlock(sample);
  const outputs = { amount: '1000' };
  for (let run = 0; run < 5; run++) registry.recordExecution('trade', 0);
  assert.equal(evaluate(registry, { outputs }).action, null);
  assert.equal(evaluate(registry, { outputs, ability: 'trading.execute' }).reason, 'Confirm before executing trade');
  registry.recordExecution('trade', 0);
  assert.equal(evaluate(registry, { outputs }).reason, 'Max 5 trades per hour');
  assert.equal(evaluate(registry, { outputs: { amount: '1001' } }).action, 'abort');
});

test('N47: three runs a day pass and the fourth is throttled', () => {
  assert.deepEqual(firings('frequency>3/1d|throttle|"Maximum 3 auto-trades per day"', 5, hour), [4, 5]);
  assert.deepEqual(firings('frequency>3/1d|throttle', 5, 8 * hour), []);
});
