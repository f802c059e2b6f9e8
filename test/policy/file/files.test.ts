import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { CheckedPolicy } from '../../../src/policy/check/check-policy.ts';
import { findPolicy, parsePolicy, watchPolicy } from '../../../src/policy/file/files.ts';
import { loadPolicy } from '../../../src/policy/file/load-policy.ts';

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-policy-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The file of the seed, as it is written there. */
const cuedeckFile = `[circuit_breaker]
# Failures before tripping
failure_threshold = 5

# Time to wait before Half-Open state
reset_timeout_seconds = 30

# Types of errors that count towards threshold
count_errors = [
  "ToolError",        # Tool execution failed
  "NetworkError",     # HTTP 5xx, timeouts
  "RateLimitExceeded" # HTTP 429
]

# Errors that do NOT trip (user errors)
ignore_errors = [
  "InvalidArguments", # User typo
  "FileNotFound"      # Expected logic flow
]
`;

test('an unchanged CueDeck file loads and selects the preset cuedeck', () => {
  const written = parsePolicy(cuedeckFile, 'config.toml');
  assert.deepEqual(written.settings, parsePolicy('preset = "cuedeck"', 'x.toml').settings);
  assert.equal(written.settings.circuitBreaker.recoveryTimeoutSecs, 30);
  assert.equal(written.settings.circuitBreaker.successThreshold, 1);
  assert.equal(written.provenance.get('circuit_breaker.ignore_errors')?.line, 16);
});

const same = {
  'a.toml': 'mode = "observe"\n[tools."mail.*"]\ntimeout = 5.5\n[[rules]]\ncondition = "a>1"\naction = "abort"\n',
  'a.yaml': 'mode: observe\ntools:\n  mail.*: { timeout: 5.5 }\nrules:\n  - condition: a>1\n    action: abort\n',
  'a.json': '{"mode":"observe","tools":{"mail.*":{"timeout":5.5}},"rules":[{"condition":"a>1","action":"abort"}]}',
};

test('equal files in TOML, YAML and JSON give the same policy', () => {
  const [toml, yaml, json] = Object.entries(same).map(([file, text]) => parsePolicy(text, file).settings);
  assert.equal(toml?.tools['mail.*']?.timeoutSecs, 5.5);
  assert.deepEqual(yaml, toml);
  assert.deepEqual(json, toml);
});

test('a file with only comments has the default settings', () => {
  for (const file of ['a.toml', 'a.yaml'])
    assert.equal(parsePolicy('# nothing\n', file).settings.task.maxToolCalls, 50);
});

const wrong: readonly (readonly [string, string, string])[] = [
  [
    's.toml',
    '# x\n\n[circuit_breaker]\nfailure_threshold = -2\n',
    'circuit_breaker.failure_threshold must be a whole number from 1, got -2 (s.toml, line 4)',
  ],
  [
    's.toml',
    '[circuit_breaker]\ncount_errors = [\n  "A]", # ]\n]\n\ntimeout = 0\n',
    'circuit_breaker.timeout must be a number above 0 or "none", got 0 (s.toml, line 6)',
  ],
  ['s.toml', 'task.max_tool_calls = 0', 'task.max_tool_calls must be a whole number from 1, got 0 (s.toml, line 1)'],
  [
    's.toml',
    '\n[tools."a.b"]\n"timeout" = inf',
    'tools."a.b".timeout must be a number above 0 or "none", got Infinity (s.toml, line 3)',
  ],
  [
    's.toml',
    '[[rules]]\ncondition = """a>1"""\naction = \'abort\'\n[[rules]]\naction = "abort"\nx = 1',
    'rules[1].x is not part of a rule; it has "target", "condition", "action" or "reason" (s.toml, line 6)',
  ],
  [
    's.toml',
    '[task]\nmax_tokens = 1979-05-27',
    'task.max_tokens must be a whole number from 1 or "none", got an object that is not plain data (s.toml, line 2)',
  ],
  [
    's.toml',
    'tools = { x = { timeout = 0 } }',
    'tools.x.timeout must be a number above 0 or "none", got 0 (s.toml, line 1)',
  ],
  [
    's.toml',
    'a = 1\na = 2',
    'the policy is not valid TOML: trying to redefine an already defined table or value (s.toml, line 2)',
  ],
  ['s.yml', 'task:\n  max_tool_calls: 0\n', 'task.max_tool_calls must be a whole number from 1, got 0 (s.yml, line 2)'],
  [
    's.yml',
    'task:\n  max_tokens: "10"\n',
    'task.max_tokens must be a whole number from 1 or "none", got "10" (s.yml, line 2)',
  ],
  ['s.yml', 'loop:\n  enabled: off\n', 'loop.enabled must be true or false, got "off" (s.yml, line 2)'],
  ['s.yml', 'task:\n', 'task must be a table, got null (s.yml, line 1)'],
  ['s.yml', 'a: 1\na: 2\n', 'the policy is not valid YAML: Map keys must be unique (s.yml, line 2)'],
  [
    's.yml',
    'a: !!js/function x\n',
    'the policy is not valid YAML: Unresolved tag: tag:yaml.org,2002:js/function (s.yml, line 1)',
  ],
  ['s.yml', '- a\n', 'the policy must be a table, got a list of 1 (s.yml)'],
  [
    's.json',
    '{\n\t"task": {\n\t\t"max_tool_calls": 0\n\t}\n}',
    'task.max_tool_calls must be a whole number from 1, got 0 (s.json, line 3)',
  ],
  [
    's.json',
    '{ "mode": "observe",\n"mode": "enforce" }',
    'the policy is not valid JSON: Map keys must be unique (s.json, line 2)',
  ],
  ['s.json', '{ // no\n}', "the policy is not valid JSON: Expected property name or '}' (s.json, line 1)"],
  ['s.ini', '', 'a policy file ends in .toml, .yaml, .yml, .json, got s.ini'],
];

for (const [file, text, message] of wrong) {
  test(`${file}: ${JSON.stringify(text.slice(0, 40))} is rejected with its position`, () => {
    assert.throws(() => parsePolicy(text, file), { code: 'invalid_policy', message });
  });
}

test('YAML aliases that multiply the size of a document are rejected', () => {
  const level = (name: string, below: string) => `${name}: &${name} [${Array(9).fill(`*${below}`).join(', ')}]\n`;
  const bomb = `a: &a [${Array(9).fill('x').join(', ')}]\n${level('b', 'a')}${level('c', 'b')}${level('d', 'c')}`;
  assert.throws(() => parsePolicy(bomb, 's.yml'), { code: 'invalid_policy', message: /alias count/ });
});

test('deep nesting is rejected in every format', () => {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  for (const [file, text] of [
    ['s.toml', `a = ${deep}`],
    ['s.yml', deep],
    ['s.json', deep],
  ] as const) {
    assert.throws(() => parsePolicy(text, file), { code: 'invalid_policy' });
  }
});

test('a file that is absent, too large or not text is reported as unreadable', (context) => {
  const folder = folderFor(context);
  const path = join(folder, 'switchgear.toml');
  assert.throws(() => loadPolicy(path), { code: 'policy_unreadable', message: /ENOENT/ });
  writeFileSync(path, '#'.repeat(2_000_000));
  assert.throws(() => loadPolicy(path), { code: 'policy_unreadable', message: /2000000 bytes/ });
  writeFileSync(path, new Uint8Array([0x23, 0xff, 0xfe]));
  assert.throws(() => loadPolicy(path), { code: 'policy_unreadable', message: /not UTF-8/ });
});

test('findPolicy returns the policy file of a folder, and rejects a folder with two policy files', (context) => {
  const folder = folderFor(context);
  assert.equal(findPolicy(folder), undefined);
  writeFileSync(join(folder, 'switchgear.yml'), '');
  assert.equal(findPolicy(folder), join(folder, 'switchgear.yml'));
  writeFileSync(join(folder, 'switchgear.toml'), '');
  assert.throws(() => findPolicy(folder), { code: 'ambiguous_policy' });
});

test('a byte order mark is ignored', (context) => {
  const path = join(folderFor(context), 'switchgear.json');
  writeFileSync(path, '\uFEFF{"mode":"observe"}');
  assert.equal(loadPolicy(path).settings.mode, 'observe');
});

test('a changed file is loaded; an invalid one is reported once and the last valid policy stays', (context) => {
  const path = join(folderFor(context), 'switchgear.toml');
  const write = (calls: string) => writeFileSync(path, `[task]\nmax_tool_calls = ${calls}\n`);
  let tick = () => {};
  let waiting = 0;
  const clock = {
    after(_delayMs: number, run: () => void) {
      tick = run;
      waiting++;
      return () => {
        waiting = 0;
      };
    },
  };
  const taken: CheckedPolicy[] = [];
  const problems: string[] = [];
  const onProblem = (error: Error) => problems.push(error.message);
  write('1');
  const watch = watchPolicy(path, (policy) => taken.push(policy), { clock, onProblem });
  const story: readonly (readonly [string, () => void, number, number, number])[] = [
    ['nothing changed', () => {}, 1, 0, 0],
    ['a good file', () => write('2'), 2, 1, 0],
    ['a bad file', () => write('0'), 2, 1, 1],
    ['still bad', () => {}, 2, 1, 1],
    ['gone', () => rmSync(path), 2, 1, 2],
    ['still gone', () => {}, 2, 1, 2],
    ['good again', () => write('3'), 3, 2, 2],
    ['gone again', () => rmSync(path), 3, 2, 3],
  ];
  for (const [what, change, calls, changes, complaints] of story) {
    change();
    tick();
    assert.deepEqual(
      [watch.policy.settings.task.maxToolCalls, taken.length, problems.length],
      [calls, changes, complaints],
      what,
    );
  }
  assert.match(problems[0] ?? '', /max_tool_calls must be a whole number from 1, got 0/);
  watch.stop();
  assert.equal(waiting, 0);
});

test('without a clock in the options a watch reports a change through file system events', async (context) => {
  const path = join(folderFor(context), 'switchgear.toml');
  writeFileSync(path, '');
  const changed = Promise.withResolvers<CheckedPolicy>();
  const alive = setTimeout(() => changed.reject(new Error('no change was told')), 20_000);
  const watch = watchPolicy(path, changed.resolve);
  writeFileSync(path, 'mode = "observe"');
  assert.equal((await changed.promise).settings.mode, 'observe');
  watch.stop();
  clearTimeout(alive);
});

test('a watch starts only with a valid policy, and continues after a listener throws', (context) => {
  const path = join(folderFor(context), 'switchgear.toml');
  writeFileSync(path, 'mode = "no"');
  let tick = () => {};
  const clock = {
    after(_delayMs: number, run: () => void) {
      tick = run;
      return () => {};
    },
  };
  assert.throws(() => watchPolicy(path, () => {}, { clock }), { code: 'invalid_policy' });
  writeFileSync(path, '');
  const problems: string[] = [];
  const fail = () => {
    throw new Error('listener failed');
  };
  const watch = watchPolicy(path, fail, { clock, onProblem: (error) => problems.push(error.message) });
  writeFileSync(path, 'mode = "observe"');
  tick();
  assert.deepEqual(problems, ['listener failed']);
  assert.equal(watch.policy.settings.mode, 'observe');
});
