/** Chain files as people write them, and everything that can be wrong with one. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { formatProblem } from '../../../src/chains/file/problem.ts';
import { loadChain, readChain } from '../../../src/chains/index.ts';
import { readText } from '../../harness/source.ts';

const seed = readText('test/fixtures/seed-chain.yaml');

/** Problems as `line:column message`. */
function problemsOf(text: string, file = 'chain.yaml'): string[] {
  const { chain, problems } = readChain(text, file);
  assert.equal(chain === undefined, problems.length > 0, 'a chain, or problems');
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const warningsOf = (text: string) =>
  readChain(text).warnings.map(({ line, column, message }) => `${line}:${column} ${message}`);

const small = 'id: c\nsteps:\n  - id: s\n    ability: a.b\n';

/** The small chain with more in its step. */
const step = (more: string) => `${small}${more.replace(/^/gm, '    ')}\n`;

test('the sample file, pasted verbatim, loads with exactly two warnings', () => {
  const { chain, problems, warnings } = readChain(seed, 'seed.yaml');
  assert.deepEqual(problems, []);
  assert.equal(chain?.steps.length, 2);
  assert.deepEqual(
    warnings.map(({ line, message }) => `${line}: ${message}`),
    [
      '16: circuit_breakers[0].condition will abort before step 1 (fetch_price): no step outputs amount; ' +
        'lookup: [outputs, args] with on_missing: pending looks at the arguments of execute_trade',
      '42: steps[1].condition.value uses buy_threshold, which is not declared as a parameter: ' +
        'it must be given at run time',
    ],
  );
});

test('a chain with every field is read', () => {
  const { chain, problems, warnings } = readChain(`
id: all.of-it_1
name: "All"
description: |
  Two
  lines
on_missing: pending
lookup: [outputs, args, params]
params:
  - name: who
  - { name: many, param_type: number, default: 2 }
  - { name: dry, param_type: boolean, required: false, description: only look }
circuit_breakers:
  - 'B:amount>{{many}}|abort|"too | much"'
  - output:first.text|contains:fail|confirm
  - condition: ability:b.*
    action: throttle
steps:
  - id: one
    ability: a.b
    args: { to: "{{who}}", deep: [{ x: "{{many}}" }, null, 1.5, true] }
    output_key: first
    timeout_secs: 2.5
    idempotent: true
    circuit_breaker:
      failure_threshold: 2
      recovery_timeout_secs: 5
  - id: two
    ability: b.c
    args:
      amount: "{{first.amount}}"
    condition: { ref_key: first.ok, op: "==", value: true }
`);
  assert.deepEqual([problems, warnings], [[], []]);
  assert.deepEqual(chain, {
    id: 'all.of-it_1',
    name: 'All',
    description: 'Two\nlines\n',
    params: [
      { name: 'who', type: 'text', required: true },
      { name: 'many', type: 'number', required: false, default: 2 },
      { name: 'dry', type: 'boolean', required: false, description: 'only look' },
    ],
    ruleSettings: { onMissing: 'pending', lookup: ['outputs', 'args', 'params'] },
    rules: [
      { target: 'chain:all.of-it_1', condition: 'amount>{{many}}', action: 'abort', reason: 'too | much' },
      { target: 'chain:all.of-it_1', condition: 'output:first.text|contains:fail', action: 'confirm' },
      { target: 'chain:all.of-it_1', condition: 'ability:b.*', action: 'throttle' },
    ],
    steps: [
      {
        id: 'one',
        ability: 'a.b',
        args: { to: '{{who}}', deep: [{ x: '{{many}}' }, null, 1.5, true] },
        idempotent: true,
        outputKey: 'first',
        timeoutSecs: 2.5,
        circuitBreaker: { failureThreshold: 2, recoveryTimeoutSecs: 5 },
      },
      {
        id: 'two',
        ability: 'b.c',
        args: { amount: '{{first.amount}}' },
        idempotent: false,
        condition: { refKey: 'first.ok', op: 'equals', value: true },
      },
    ],
  });
});

test('JSON is read strictly, with the positions of its values', () => {
  const good = {
    $schema: './chain.schema.json',
    id: 'c',
    steps: [{ id: 's', ability: 'a', args: { t: '\u{1f600}\t"\\/' } }],
  };
  const { chain } = readChain(JSON.stringify(good, null, '\t'), 'c.json');
  assert.deepEqual(chain?.steps[0]?.args, good.steps[0]?.args);
  assert.deepEqual(problemsOf('{\n\t"id": "c",\n\t"steps": [{ "id": 5, "ability": "a" }]\n}', 'c.JSON'), [
    '3:14 steps[0].id must be a text, got 5',
  ]);
  assert.match(problemsOf('{\n "id": "c",\n}', 'c.json').join(), /^3:1 no valid JSON: /);
  assert.match(problemsOf('id: c', 'c.json').join(), /^1:1 no valid JSON: /);
  assert.match(problemsOf('{"id": "c"', 'c.json').join(), /^1:11 no valid JSON: /);
  assert.deepEqual(problemsOf('{"id":"c","id":"d","steps":[{"id":"s","ability":"a"}]}', 'c.json'), [
    '1:11 has the key "id" twice, first in line 1',
  ]);
});

/** What is wrong, as it is told. One slip is one problem. */
const slips: readonly (readonly [what: string, text: string, ...told: string[]])[] = [
  ['nothing', '', '1:1 the file is empty: a chain has at least an id and steps'],
  ['a remark only', '# hi\n', '1:1 the file is empty: a chain has at least an id and steps'],
  ['no table', '- a\n', '1:1 must be a table, got a list of 1'],
  ['missing keys', 'name: x\n', '1:1 the chain needs id', '1:1 the chain needs steps'],
  ['an unknown key', `${small}stepz: []\n`, '5:1 stepz is not known here; did you mean steps?'],
  [
    'an unknown key of a step',
    step('retry: 5'),
    '5:5 steps[0].retry is not known here; it may have "id", "ability", "args", "output_key", "condition", ' +
      '"timeout_secs", "idempotent" or "circuit_breaker"',
  ],
  ['a step that lacks its ability', 'id: c\nsteps:\n  - id: s\n', '3:5 steps[0] needs ability'],
  ['no steps', 'id: c\nsteps: []\n', '2:1 steps must have at least one step, got an empty list'],
  ['steps that are no list', 'id: c\nsteps: x\n', '2:1 steps must be a list, got "x"'],
  ['a step that is a text', 'id: c\nsteps:\n  - x\n', '3:5 steps[0] must be a table, got "x"'],
  [
    'an id with a space',
    small.replace('id: c', 'id: my chain'),
    '1:1 id must be letters, digits and _ - ., not starting with - or ., got "my chain"',
  ],
  [
    'an id for everybody',
    small.replace('id: c', 'id: "*"'),
    '1:1 id must be letters, digits and _ - ., not starting with - or ., got "*"',
  ],
  ['an id that is a number', small.replace('id: c', 'id: 5'), '1:1 id must be a text, got 5'],
  ['a step id twice', `${small}  - { id: s, ability: b }\n`, '5:7 steps[1].id "s" is also the id of steps[0]'],
  [
    'an output key twice',
    `${step('output_key: k')}  - { id: t, ability: b, output_key: k }\n`,
    '6:26 steps[1].output_key "k" is also the output of steps[0]',
  ],
  [
    'an output that hides a parameter',
    `params: [{ name: k }]\n${step('output_key: k')}`,
    '6:5 steps[0].output_key "k" is also the name of a parameter',
  ],
  ['a parameter without a name', `params: [{ required: true }]\n${small}`, '1:10 params[0] needs name'],
  [
    'a parameter twice',
    `params: [{ name: k }, { name: k }]\n${small}`,
    '1:23 params[1] has the name of another parameter: k',
  ],
  [
    'an unknown type',
    `params: [{ name: k, param_type: date }]\n${small}`,
    '1:21 params[0].param_type must be "text", "number" or "boolean", got "date"',
  ],
  [
    'a default of another type',
    `params: [{ name: k, param_type: number, default: x }]\n${small}`,
    '1:41 params[0].default must be a number, got "x"',
  ],
  [
    'required and default',
    `params: [{ name: k, required: true, default: x }]\n${small}`,
    '1:21 params[0].required is true, but the parameter has a default: remove one of the two',
  ],
  ['an unknown op', step('condition: { ref_key: s, op: almost, value: 1 }'), ...[]],
  [
    'a value too few',
    step('condition: { ref_key: x, op: "<" }'),
    '5:5 steps[0].condition needs a value to compare with for less_than',
  ],
  [
    'a value too many',
    step('condition: { ref_key: x, op: exists, value: 1 }'),
    '5:42 steps[0].condition.value has no meaning with exists: leave it out',
  ],
  [
    'a reference in braces',
    step('condition: { ref_key: "{{x}}", op: exists }'),
    '5:18 steps[0].condition.ref_key must be an output key or a parameter, as in price, got "{{x}}"',
  ],
  [
    'an ability that is filled in',
    step('').replace('a.b', '"{{x}}"'),
    '4:5 steps[0].ability must be one name, as in server.tool, got "{{x}}"',
  ],
  [
    'a time that is none',
    step('timeout_secs: 0'),
    '5:5 steps[0].timeout_secs must be a number above 0, at most 2147483, got 0',
  ],
  ['a flag that is none', step('idempotent: "yes"'), '5:5 steps[0].idempotent must be true or false, got "yes"'],
  [
    'a wrong breaker',
    step('circuit_breaker: { failure_threshold: 0 }'),
    '5:24 steps[0].circuit_breaker.failure_threshold must be a whole number from 1, got 0',
  ],
  ['a breaker that is none', step('circuit_breaker: 5'), '5:5 steps[0].circuit_breaker must be a table, got 5'],
  ['an unclosed template', step('args: { a: "{{x" }'), '5:13 steps[0].args.a has {{ without }}: "{{x"'],
  [
    'an empty template',
    step('args: { a: ["{{ }}"] }'),
    '5:17 steps[0].args.a[0] has an empty {{}}: put a name into it',
  ],
  [
    'code in a template',
    step('args: { a: "{{x.map(y)}}" }'),
    '5:13 steps[0].args.a has {{x.map(y)}}, which is not a name',
  ],
  [
    'a template without quotes',
    step('args: { a: {{x}} }'),
    '5:17 steps[0].args.a has a key that is not text: put the key, or {{…}}, in quotes',
  ],
  [
    'a template in a key',
    step('args: { "{{x}}": 1 }'),
    '5:13 steps[0].args."{{x}}" must not contain {{: only values are filled, not keys',
  ],
  [
    'its own output',
    step('args: { a: "{{k}}" }\noutput_key: k'),
    '5:13 steps[0].args.a refers to k, which is its own output',
  ],
  [
    'a later output',
    `${step('args: { a: "{{k.x}}" }')}  - { id: t, ability: b, output_key: k }\n`,
    '5:13 steps[0].args.a refers to k.x, which is the output of the later step t',
  ],
  [
    'two steps that wait for each other',
    `${step('args: { a: "{{k}}" }\noutput_key: l')}  - { id: t, ability: b, output_key: k, args: { b: "{{l}}" } }\n`,
    '5:13 steps[0].args.a refers to k, which is the output of the later step t',
  ],
  [
    'a later output in a condition',
    `${step('condition: { ref_key: k, op: exists }')}  - { id: t, ability: b, output_key: k }\n`,
    '5:18 steps[0].condition.ref_key refers to k, which is the output of the later step t',
  ],
  ['a part of nothing', step('args: { a: "{{k.x}}" }'), '5:13 steps[0].args.a refers to k.x, but no step outputs k'],
  [
    'a part of a parameter',
    `params: [{ name: k }]\n${step('args: { a: "{{k.x}}" }')}`,
    '6:13 steps[0].args.a refers to k.x, but k is a parameter and has no parts',
  ],
  [
    'an output in a rule',
    `circuit_breakers: ["a>{{k}}|abort"]\n${step('output_key: k')}`,
    '1:20 circuit_breakers[0].condition refers to k, an output: ' +
      'rules are filled from parameters, before the first step',
  ],
  [
    'a rule that cannot be read',
    `circuit_breakers:\n  - { condition: amount, action: abort }\n${small}`,
    '2:7 circuit_breakers[0].condition is not a valid rule: condition must be key>value, frequency>count/window, ' +
      'ability:name or output:key|contains:text, got "amount"',
  ],
  [
    'a line that cannot be read',
    `circuit_breakers: ["amount>5"]\n${small}`,
    '1:20 circuit_breakers[0] is not a valid rule: action must be abort, confirm or throttle, got ""',
  ],
  [
    'a line that YAML takes apart',
    `circuit_breakers:\n  - B: a>1|abort\n${small}`,
    '2:5 circuit_breakers[0] is a line that YAML takes for a table: put it in quotes',
  ],
  ['quotes without an end', `${small}name: "x\n`, '6:1 no valid YAML: a text in quotes has no end'],
  [
    'an unknown action',
    `circuit_breakers: [{ condition: a>1, action: stop }]\n${small}`,
    '1:38 circuit_breakers[0].action must be "abort", "confirm" or "throttle", got "stop"',
  ],
  [
    'a rule for somebody else',
    `circuit_breakers: [{ target: "*", condition: a>1, action: abort }]\n${small}`,
    '1:22 circuit_breakers[0].target is not known here; it may have "condition", "action" or "reason"',
  ],
  [
    'a rule that is a number',
    `circuit_breakers: [5]\n${small}`,
    '1:20 circuit_breakers[0] must be a table or a line condition|action|"reason", got 5',
  ],
  [
    'a setting that is none',
    `on_missing: maybe\nlookup: [here]\n${small}`,
    '1:1 on_missing must be "fire" or "pending", got "maybe"',
    '2:1 lookup [0] must be "outputs", "args" or "params", got "here"',
  ],
  ['a key twice', `${small}id: d\n`, '5:1 has the key "id" twice, first in line 1'],
  ['a key that is no text', `${small}5: d\n`, '5:1 has a key that is not text: put the key, or {{…}}, in quotes'],
  [
    'a prototype',
    step('args: { __proto__: { polluted: 1 } }'),
    '5:13 steps[0].args has the key "__proto__", which is reserved',
  ],
  ['a constructor', `constructor: x\n${small}`, '1:1 has the key "constructor", which is reserved'],
  [
    'an anchor and its alias',
    step('args: { a: &x 1, b: *x }'),
    '5:19 steps[0].args.a has an anchor: leave it out',
    '5:25 steps[0].args.b is an alias: write the value itself',
  ],
  ['a tag', step('args: { a: !!binary aGk= }'), '5:25 steps[0].args.a has a tag: leave it out'],
  ['a tab', 'id: c\nsteps:\n\t- id: s\n', '3:1 no valid YAML: a tab stands where YAML wants spaces'],
  [
    'two documents',
    `${small}---\n${small}`,
    '5:1 no valid YAML: a second document begins here: a file holds one document',
  ],
  ['a directive', `%YAML 1.1\n---\n${small}`, '1:1 the file has a %YAML directive: leave it out'],
  [
    'a number that would lose digits',
    step('args: { a: 12345678901234567890, b: 007, c: 0x1F, d: 1e21, e: 0.5, f: -0, g: 9007199254740991, h: 0 }'),
    '5:16 steps[0].args.a would be read as 12345678901234567000: put it in quotes',
    '5:41 steps[0].args.b would be read as 7: put it in quotes',
    '5:49 steps[0].args.c would be read as 31: put it in quotes',
  ],
  [
    'a number without an end',
    step('args: { a: .inf, b: .nan }'),
    '5:16 steps[0].args.a must be a finite number, got Infinity',
    '5:25 steps[0].args.b must be a finite number, got NaN',
  ],
];

for (const [what, text, ...told] of slips) {
  test(`a file is refused for ${what}, with the place`, () => {
    if (told.length > 0) assert.deepEqual(problemsOf(text), told);
    else
      assert.match(
        problemsOf(text).join('\n'),
        /^\d+:\d+ steps\[0\]\.condition\.op must be "equals", .*, got "almost"$/,
      );
  });
}

test('all problems are reported at once, in the order of the file', () => {
  const text =
    'id: "a b"\nparams:\n  - { name: p, param_type: x }\nsteps:\n' +
    '  - { id: s, ability: a, args: { v: "{{" } }\n  - { id: s, abilty: b }\n';
  assert.deepEqual(
    problemsOf(text).map((line) => line.split(' ')[0]),
    ['1:1', '3:16', '5:34', '6:5', '6:7', '6:14'],
  );
});

test('warnings name rules that always or never fire, given on_missing and lookup', () => {
  const rule = (line: string, more = '') =>
    `circuit_breakers: ['${line}']\n${more}${step('args: { total: 5 }\noutput_key: price')}  - { id: t, ability: b }\n`;
  const told = (line: string, more?: string) =>
    warningsOf(rule(line, more)).join().replace('1:20 circuit_breakers[0].condition ', '');
  assert.equal(
    told('price>5|abort'),
    'will abort before step 1 (s): price is output by s only; on_missing: pending waits for it',
  );
  assert.equal(told('price>5|abort', 'on_missing: pending\n'), '');
  assert.equal(told('price.usd>5|abort', 'on_missing: pending\n'), '');
  assert.match(told('other>5|confirm'), /^will ask before step 1 \(s\): no step outputs other$/);
  assert.equal(told('other>5|abort', 'on_missing: pending\n'), 'can never fire: no step outputs other');
  assert.equal(told('total>5|abort', 'on_missing: pending\nlookup: [args]\n'), '');
  assert.match(told('total>5|abort', 'lookup: [args]\n'), /^will abort before step 2 \(t\)/);
  assert.equal(told('p>5|abort', 'params: [{ name: p }]\nlookup: [params]\n'), '');
  assert.equal(told('{{k}}>5|abort', 'params: [{ name: k }]\n'), '');
  assert.equal(told('ability:a.*|abort'), '');
  assert.equal(told('ability:mail.send|abort'), 'can never fire: no step calls mail.send');
  assert.equal(told('output:price|contains:x|abort'), '');
  assert.equal(told('output:pric|contains:x|abort'), 'can never fire: no step outputs pric');
  assert.equal(told('frequency>5/1h|throttle'), '');
  assert.deepEqual(readChain(rule('price>5|abort'), 'c.yaml', { onMissing: 'pending' }).warnings, []);
});

const shells: readonly (readonly [args: string, warning: RegExp | undefined])[] = [
  [
    'command: "grep {{word}} log"',
    /:7:\d+: steps\[0\]\.args\.command makes \{\{word\}\} part of a program: pass the value in env/,
  ],
  ['command: "{{word}}", args: [x]', /args\.command makes \{\{word\}\} part/],
  ['command: /bin/bash, args: ["-e", "-c", "echo {{word}}"]', /args\.args\[2\] makes \{\{word\}\} part/],
  ['command: grep, args: ["{{word}}", log]', undefined],
  ['command: sh, args: ["-c", "echo $1", sh, "{{word}}"]', undefined],
  ['command: \'grep "$W" log\', env: { W: "{{word}}" }', undefined],
];

for (const [args, warning] of shells) {
  test(`{ ${args} } ${warning === undefined ? 'is not warned of' : 'is warned of: a value would be a program'}`, () => {
    const head = ['id: s', 'params:', '  - name: word', 'steps:', '  - id: a', '    ability: shell.execute'];
    const { chain, warnings } = readChain([...head, `    args: { ${args} }`, ''].join('\n'));
    assert.ok(chain);
    assert.equal(warnings.length, warning === undefined ? 0 : 1);
    if (warning !== undefined) assert.match(formatProblem(warnings[0]!, 'f'), warning);
  });
}

test('a name that the caller must pass is reported once, with a suggestion', () => {
  const args = 'args: { a: "{{tickr}}", b: "{{tickr}}" }';
  const text = `params: [{ name: ticker }]\n${step(`${args}\ncondition: { ref_key: other, op: "<", value: 1 }`)}`;
  assert.deepEqual(warningsOf(text), [
    '6:13 steps[0].args.a uses tickr, which is not declared as a parameter: it must be given at run time ' +
      '(did you mean ticker?)',
    '7:18 steps[0].condition.ref_key uses other, which is not declared as a parameter: it must be given at run time',
  ]);
});

test('an unused output gives no warning', () => {
  assert.deepEqual(warningsOf(step('output_key: k')), []);
});

test('a file is loaded, or refused with one problem per line', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-chain-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'c.yaml');
  const invalid = (message: RegExp) =>
    assert.throws(() => loadChain(path, 'c.yaml'), { name: 'SwitchgearError', code: 'invalid_chain', message });
  invalid(/^c\.yaml:1:1: the file cannot be read: ENOENT/);
  writeFileSync(path, small);
  assert.equal(loadChain(path).id, 'c');
  writeFileSync(path, 'id: c\nsteps: []\nx: 1\n');
  invalid(/^c\.yaml:2:1: steps must have .*\nc\.yaml:3:1: x is not known here/);
  writeFileSync(path, Buffer.from([0x69, 0x64, 0x3a, 0x20, 0xff]));
  invalid(/^c\.yaml:1:1: the file cannot be read: the file is not UTF-8$/);
  writeFileSync(path, `${small}name: "${'x'.repeat(5_000_000)}"\n`);
  invalid(/^c\.yaml:1:1: the file cannot be read: the file has 5\d+ bytes, at most 262144$/);
});
