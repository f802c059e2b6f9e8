/**
 * Random rules and chain files, sensible or not:
 *   node test/fuzz-chains.ts [--lines N] [--files N] [--pairs N] [--seed S] [--linear]
 * Nothing throws that is not ours, no model's rule loosens an operator's, nothing reaches a prototype. With `--linear`
 * inputs are doubled and their times compared instead.
 */

import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  chainRules,
  evaluateCondition,
  fillTemplates,
  readChain,
  readParams,
  renderGraph,
} from '../src/chains/index.ts';
import type { Action } from '../src/core/action.ts';
import { rulesControl } from '../src/core/controls/rules/control.ts';
import { createRuleEngine } from '../src/core/controls/rules/engine.ts';
import { explainRules, matchCall, matchStep } from '../src/core/controls/rules/evaluate.ts';
import { parseNyaya } from '../src/core/controls/rules/nyaya.ts';
import { parseRule, parseRuleText, printRule, type Rule } from '../src/core/controls/rules/rule.ts';
import { addRules, createRuleSet } from '../src/core/controls/rules/rule-set.ts';
import { SwitchgearError } from '../src/core/error.ts';
import type { Verdict } from '../src/core/verdict.ts';
import { checkPolicy } from '../src/policy/check/check-policy.ts';
import { measureLinearity } from './fuzz-linear-time.ts';
import { readText } from './harness/source.ts';
import { type Random, random } from './simulation/random.ts';

/** What came of some inputs, by kind: a run that reaches only one kind proves little. */
export type Tally = Record<string, number>;

const { ruleSettings: settings } = checkPolicy({}).settings;
const ladder: readonly Verdict['kind'][] = ['allow', 'wait', 'ask', 'deny', 'halt'];
const keys = ['amount', 'price', 'order.total', 'status', '__proto__', 'constructor'];
const abilities = ['pay', 'mail.send', 'shell.execute', 'trading.execute', 'toString'];
const targets = ['*', 'chain:c', 'chain:other', 'tool:pay', 'tool:*', 'agent:ann', 'c', 'pay'];
const values = [
  '0',
  '5',
  '750',
  '1e3',
  '-1',
  'NaN',
  '',
  'fail',
  'x'.repeat(300),
  5,
  1e9,
  null,
  true,
  [],
  {},
  Number.NaN,
];
const pieces = [
  ...['|', '"', "'", '>', '<', '=', ':', '/', '.', '*', ' ', '\t', '\n', '\0', '{{', '}}', '{{x}}', 'B:', 'D:', 'G:'],
  ...['abort', 'confirm', 'throttle', 'allow', 'frequency', 'ability:', 'output:', 'contains:', '<nyaya>', '</nyaya>'],
  ...[
    '5',
    '1h',
    '1d',
    '0s',
    '99999',
    '1e400',
    '-',
    '__proto__',
    'constructor',
    '\u202e',
    '\ud800',
    '😀',
    'é',
    '`',
    '%%{',
    '#',
  ],
  ...[
    '- ',
    '  ',
    '\n  ',
    '\n- ',
    '[',
    ']',
    '{',
    '}',
    ',',
    '&a ',
    '*a',
    '!!str ',
    '---\n',
    '...',
    '? ',
    '|\n',
    '>-\n',
    '~',
    'null',
  ],
  ...[
    'id: ',
    'steps:\n',
    'condition: ',
    'op: ',
    'ref_key: ',
    'value: ',
    'args: ',
    'params:\n',
    'name: ',
    'output_key: ',
  ],
];

/** Random rule lines: read, printed, read again, evaluated, and put beside the operator's. */
export function fuzzLines(count: number, seed: number): Tally {
  const chance = random(seed);
  const tally: Tally = { read: 0, refused: 0, fired: 0 };
  for (let at = 0; at < count; at++) {
    const line = chance.chance(0.5) ? randomRuleLine(chance) : mutateText(chance, randomRuleLine(chance));
    const { rule, error } = parseRule(line, {
      target: chance.pick(targets),
      origin: chance.pick(['operator', 'model']),
    });
    if (chance.chance(0.05)) parseNyaya(`<nyaya>\n${line}\nB:${line}\n</nyaya>`, 'chain:c');
    if (rule === undefined) {
      if (typeof error !== 'string') throw new Error(`no rule and no error: ${JSON.stringify(line)}`);
      countReached(tally, 'refused');
      continue;
    }
    countReached(tally, 'read');
    const again = parseRule(printRule(rule), { target: rule.target, origin: rule.origin }).rule;
    if (again?.id !== rule.id || again.reason !== rule.reason)
      throw new Error(`printing changes ${JSON.stringify(line)}`);
    const step = { chain: 'c', ability: chance.pick(abilities), outputs: randomOutputs(chance), agent: 'ann' };
    const fired =
      matchStep([rule], step, settings).length +
      matchCall([rule], { tool: step.ability, agent: 'ann', args: [step.outputs] }, settings).length;
    if (explainRules([rule], step, settings).length > 1) throw new Error('one rule, two rows');
    if (fired > 0) countReached(tally, 'fired');
  }
  return tally;
}

/** Random operators' rules with random lines of a model beside them: no verdict is ever looser for it. */
export function fuzzPairs(count: number, seed: number): Tally {
  const chance = random(seed);
  const tally: Tally = { stricter: 0, same: 0, taken: 0, rejected: 0 };
  for (let at = 0; at < count; at++) {
    const operator = createRuleSet(
      Array.from({ length: chance.whole(0, 3) }, () => randomRule(chance)).flatMap((rule) => rule ?? []),
    ).rules;
    const lines = Array.from({ length: chance.whole(1, 3) }, () =>
      chance.chance(0.8) ? randomRuleLine(chance) : mutateText(chance, randomRuleLine(chance)),
    );
    // Now and then a model writes what the operator wrote, or nearly.
    const [own] = operator;
    if (own !== undefined && chance.chance(0.3))
      lines.push(
        chance.chance(0.5)
          ? printRule(own)
          : printRule({ ...own, action: chance.pick(['abort', 'confirm', 'throttle']) }),
      );
    const looks = {
      ...settings,
      throttle: chance.pick(['skip', 'delay'] as const),
      onMissing: chance.pick(['fire', 'pending'] as const),
    };
    const { engine, taken, rejected } = createRuleEngine(operator, looks).tighten(lines, chance.pick(targets));
    tally.taken! += taken.length;
    tally.rejected! += rejected.length;
    const all = (engine as unknown as { readonly rules: readonly Rule[] }).rules;
    for (const rule of operator)
      if (!all.includes(rule)) throw new Error(`${rule.id} was lost to ${JSON.stringify(lines)}`);
    compare(chance, operator, all, looks, tally);
  }
  return tally;
}

function compare(
  chance: Random,
  operator: readonly Rule[],
  all: readonly Rule[],
  looks: typeof settings,
  tally: Tally,
): void {
  const without = rulesControl(operator, looks);
  const beside = rulesControl(all, looks);
  const a = without.initial(0);
  const b = beside.initial(0);
  for (let step = 0; step < 3; step++) {
    const atMs = step * chance.pick([0, 1_000, 4_000_000]);
    const outputs = randomOutputs(chance);
    const ability = chance.pick(abilities);
    const isRun = chance.chance(0.2);
    const facts = { chain: 'c', ability, outputs, agent: 'ann' };
    const hits = (rules: readonly Rule[]) => (isRun ? [] : matchStep(rules, facts, looks));
    const features = { fingerprint: step, worstMicros: 0, worstTokens: 0, patienceMs: 0 };
    const name = isRun ? 'chain:c' : ability;
    const base: Action = { id: step, kind: 'step', name, agent: 'ann', session: 's', task: 't', ...features };
    const plain = { type: 'action-proposed', atMs, action: { ...base, hits: hits(operator) } } as const;
    const guarded = { type: 'action-proposed', atMs, action: { ...base, hits: hits(all) } } as const;
    const before = without.judge(a, plain, 'self');
    const after = beside.judge(b, guarded, 'self');
    const change = ladder.indexOf(after.kind) - ladder.indexOf(before.kind);
    if (change < 0) throw new Error(`${before.kind} became ${after.kind}: ${JSON.stringify([operator, all, facts])}`);
    countReached(tally, change > 0 ? 'stricter' : 'same');
    // Both learn of the same calls: those that ran.
    without.apply(a, { type: 'action-decided', atMs, action: plain.action, verdict: after }, 'self');
    beside.apply(b, { type: 'action-decided', atMs, action: guarded.action, verdict: after }, 'self');
  }
}

const operatorsOwn = createRuleSet(
  ['ability:shell.execute|abort|"never"', 'amount>100|confirm'].flatMap((line) => parseRule(line).rule ?? []),
).rules;
const corpus = [
  readText('test/fixtures/seed-chain.yaml'),
  `id: c
on_missing: pending
lookup: [outputs, args]
params:
  - { name: x, default: 5, param_type: number }
  - { name: w, default: 1h }
circuit_breakers:
  - B:amount>{{x}}|abort|"no {{x}}"
  - frequency>{{x}}/{{w}}|throttle
  - output:k.text|contains:{{w}}|confirm
steps:
  - id: s
    ability: a.b
    args: { t: "{{x}}", d: [{ e: "v {{w}}" }, 1, null] }
    output_key: k
    timeout_secs: 5
    circuit_breaker: { failure_threshold: 2 }
  - id: t
    ability: pay
    idempotent: true
    condition: { ref_key: k.n, op: ">=", value: "{{x}}" }
`,
  'id: c\nsteps:\n  - { id: s, ability: a }\n',
  '{"id":"c","params":[{"name":"x"}],"circuit_breakers":[{"condition":"a>{{x}}","action":"abort"}],' +
    '"steps":[{"id":"s","ability":"a","args":{"v":"{{x}}"}}]}',
];

/** Random chain files, made of good ones: read, and where they can be, filled, drawn and judged. */
export function fuzzFiles(count: number, seed: number): Tally {
  const chance = random(seed);
  const tally: Tally = { read: 0, refused: 0, filled: 0, unfilled: 0 };
  for (let at = 0; at < count; at++) {
    let text = chance.pick(corpus);
    for (let more = chance.whole(1, 3); more > 0; more--) text = mutateText(chance, text);
    const file = text.startsWith('{') && chance.chance(0.8) ? 'c.json' : 'c.yaml';
    const { chain, problems } = readChain(text, file);
    if ((chain === undefined) !== problems.length > 0) throw new Error(`a chain and problems: ${JSON.stringify(text)}`);
    if (problems.some(({ line, column }) => !(line >= 1 && column >= 1)))
      throw new Error(`no place: ${JSON.stringify(text)}`);
    countReached(tally, chain === undefined ? 'refused' : 'read');
    if (chain === undefined) continue;
    renderGraph(chain);
    try {
      const given = Object.fromEntries(
        ['x', 'w', 'ticker', 'max_spend', 'buy_threshold'].map((name) => [
          name,
          chance.pick(['5', '1h', mutateText(chance, '5')]),
        ]),
      );
      const known = new Set(chain.params.map(({ name }) => name));
      const params = readParams(
        chain,
        Object.fromEntries(Object.entries(given).filter(([name]) => known.has(name) || text.includes(`{{${name}}}`))),
      );
      const rules = chainRules(chain, params).map((rule) => parseRuleText(rule).rule);
      if (
        rules.length !== chain.rules.length ||
        rules.some((rule, index) => rule?.action !== chain.rules[index]?.action.trim())
      )
        throw new Error(`filling changed a rule: ${JSON.stringify(text)}`);
      const inForce = addRules(
        operatorsOwn,
        rules.flatMap((rule) => rule ?? []),
      ).rules;
      if (operatorsOwn.some((rule) => !inForce.some(({ id, reason }) => id === rule.id && reason === rule.reason)))
        throw new Error(`the operator's rule is gone: ${JSON.stringify(text)}`);
      for (const { args, condition } of chain.steps) {
        const scope = { params, outputs: { k: { n: 5, text: 'x' }, current_price: '9' } };
        if (condition !== undefined) evaluateCondition(condition, scope);
        fillTemplates(args, scope);
      }
      countReached(tally, 'filled');
    } catch (error) {
      if (!(error instanceof SwitchgearError)) throw error;
      countReached(tally, 'unfilled');
    }
  }
  return tally;
}

/** Runs something and fails if anything was added to a prototype meanwhile. */
export function checkUnpolluted<T>(run: () => T): T {
  const seen = () =>
    [Object.prototype, Array.prototype, String.prototype, Function.prototype]
      .map((one) => Reflect.ownKeys(one).length)
      .join();
  const before = seen();
  const result = run();
  if (seen() !== before) throw new Error('a prototype was changed');
  return result;
}

function randomRuleLine(chance: Random): string {
  const key = chance.pick(keys);
  const condition = chance.pick([
    `${key}>${chance.pick(['0', '5', '500', '1e3', '-2.5', 'x'])}`,
    `frequency>${chance.whole(0, 3)}/${chance.pick(['1s', '30s', '15m', '1h', '1d', '0h', ''])}`,
    `ability:${chance.pick([...abilities, '*', 'mail.*', '*.execute'])}`,
    `output:${key}|contains:${chance.pick(['fail', '5', '"a b"', 'x'])}`,
  ]);
  const action = chance.pick(['abort', 'confirm', 'throttle']);
  return `${chance.pick(['', 'B:', 'B: '])}${condition}|${action}${chance.pick(['', '|"because"', '|', '|a | b'])}`;
}

function randomRule(chance: Random): Rule | undefined {
  return parseRule(randomRuleLine(chance), { target: chance.pick(targets) }).rule;
}

function randomOutputs(chance: Random): Record<string, unknown> {
  const outputs: Record<string, unknown> = {};
  for (let more = chance.whole(0, 3); more > 0; more--) {
    const key = chance.pick(keys);
    Object.defineProperty(outputs, key, {
      value: chance.pick(values),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  if (chance.chance(0.1)) outputs.order = { total: chance.pick(values) };
  return outputs;
}

/** The text with one change: something put in, taken out, doubled or moved. */
function mutateText(chance: Random, text: string): string {
  const from = chance.whole(0, text.length);
  const to = Math.min(text.length, from + chance.whole(0, chance.pick([1, 3, 30])));
  const rest = text.slice(to);
  switch (chance.whole(0, 5)) {
    case 0:
      return text.slice(0, from) + chance.pick(pieces) + text.slice(from);
    case 1:
      return text.slice(0, from) + chance.pick(pieces) + rest;
    case 2:
      return text.slice(0, from) + rest;
    case 3:
      return text.slice(0, to) + text.slice(from);
    case 4: {
      const lines = text.split('\n');
      const at = chance.whole(0, lines.length - 1);
      const moved = lines.splice(at, 1);
      lines.splice(chance.whole(0, lines.length), 0, ...moved, ...(chance.chance(0.3) ? moved : []));
      return lines.join('\n');
    }
    default: {
      const words = [...text.matchAll(/[\w.]+/g)];
      const word = words.length > 0 ? chance.pick(words) : undefined;
      if (word === undefined) return text + chance.pick(pieces);
      return (
        text.slice(0, word.index) +
        chance.pick([...pieces, ...words.map(([each]) => each)]) +
        text.slice(word.index + word[0].length)
      );
    }
  }
}

function countReached(tally: Tally, label: string): void {
  tally[label] = (tally[label] ?? 0) + 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = (initial: string) => ({ type: 'string', default: initial }) as const;
  const { values: said } = parseArgs({
    options: {
      lines: text('1000000'),
      files: text('100000'),
      pairs: text('1000000'),
      seed: text('1'),
      linear: { type: 'boolean' },
    },
  });
  const seed = Number(said.seed);
  const told = (label: string, count: string, run: (count: number, seed: number) => Tally) => {
    const startedMs = performance.now();
    const tally = checkUnpolluted(() => run(Number(count), seed));
    const parts = Object.entries(tally).map(([name, many]) => `${name} ${many}`);
    console.log(`${count} ${label} in ${((performance.now() - startedMs) / 1000).toFixed(1)} s: ${parts.join(', ')}`);
  };
  if (said.linear) process.exitCode = measureLinearity() ? 0 : 1;
  else {
    told('rule lines', said.lines, fuzzLines);
    told('pairs of operator and model', said.pairs, fuzzPairs);
    told('chain files', said.files, fuzzFiles);
  }
}
