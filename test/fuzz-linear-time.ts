/** Whether reading takes time in proportion: inputs of every shape, each measured at a size and at twice the size. */

import {
  chainRules,
  evaluateCondition,
  fillTemplates,
  readChain,
  readParams,
  renderGraph,
} from '../src/chains/index.ts';
import { parseNyaya } from '../src/core/controls/rules/nyaya.ts';
import { parseRule } from '../src/core/controls/rules/rule.ts';
import { ruleLengthMax } from '../src/core/limits.ts';

/** How much more a doubled input may cost. */
const ratioMax = 2.5;
const tries = 3;

/** An input of about so many characters, ready to be run. */
export interface Shape {
  readonly name: string;
  readonly size: number;
  readonly make: (size: number) => () => unknown;
}

const small = 'id: c\nsteps:\n  - id: s\n    ability: a\n';
const repeated = (piece: string, size: number) => piece.repeat(Math.max(1, Math.floor(size / piece.length)));

/** Pieces of YAML that make a parser open, close, count or look back. */
const yaml = [
  ...[
    '[',
    '{',
    '- ',
    '? ',
    '&a ',
    '*a ',
    '- *a\n',
    '- &a b\n',
    '!a ',
    '"\\n',
    '|\n',
    '# c\n',
    '---\n',
    '%Y\n',
    ',',
    ':',
    'a: ',
    'a:\n',
  ],
  ...[
    '\t',
    '[a,',
    '{a: ',
    '{a,',
    '"a": 1\n',
    'a: 1\n',
    'a: "x\n',
    '>\n a\n',
    '\r\n',
    '\n',
    ' ',
    '- a\n',
    '- - a\n',
    "'",
    '"',
    '[]',
    '{},',
  ],
  ...[
    'a b: c d\n',
    '!<t> ',
    '- |\n a\n',
    'a: [\n',
    '[\n',
    '- {a: 1,\n',
    '[#\n',
    '\\',
    '{{',
    '}}',
    '{{x}}',
    '"{{x}}" ',
    'x',
  ],
];

const rules = [
  'a',
  ' ',
  '|',
  '>',
  '"',
  'a>1|',
  'ability:',
  'frequency>1',
  'output:a|',
  'contains:',
  '*',
  '\t',
  '{{',
  '9',
  'e9',
  '-',
  '.',
];

export function shapes(): readonly Shape[] {
  const numbered = (count: number, line: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => line(at)).join('');
  const file = (text: string) => () => readChain(text);
  const steps = (count: number, suffix = '') =>
    `id: c\nsteps:\n${numbered(count, (at) => `  - { id: s${at}, ability: a${at}, output_key: k${at}${suffix} }\n`)}`;
  const chain = (count: number) =>
    readChain(`circuit_breakers:\n${numbered(count, (at) => `  - "k${at}>{{x}}|abort"\n`)}${steps(count)}`).chain!;
  return [
    ...yaml.map((piece) => ({
      name: `a file of ${JSON.stringify(piece)}`,
      size: 60_000,
      make: (size: number) => file(repeated(piece, size)),
    })),
    ...yaml.map((piece) => ({
      name: `JSON of ${JSON.stringify(piece)}`,
      size: 60_000,
      make: (size: number) => () => readChain(repeated(piece, size), 'c.json'),
    })),
    {
      name: 'keys of one table',
      size: 4_000,
      make: (size) => file(`${small}    args:\n${numbered(size, (at) => `      k${at}: 1\n`)}`),
    },
    { name: 'unknown keys', size: 4_000, make: (size) => file(small + numbered(size, (at) => `idx${at}: 1\n`)) },
    {
      name: 'names that nobody declares',
      size: 2_000,
      make: (size) => file(`${small}    args:\n${numbered(size, (at) => `      k${at}: "{{name${at}}}"\n`)}`),
    },
    { name: 'steps', size: 100, make: (size) => file(steps(size)) },
    { name: 'steps that fail', size: 100, make: (size) => file(steps(size, ', x: 1, args: 5')) },
    {
      name: 'parameters',
      size: 50,
      make: (size) => file(`params:\n${numbered(size, (at) => `  - { name: p${at} }\n`)}${small}`),
    },
    {
      name: 'rules',
      size: 500,
      make: (size) => file(`circuit_breakers:\n${numbered(size, (at) => `  - k${at}>5|abort\n`)}${small}`),
    },
    {
      name: 'rules and steps',
      size: 100,
      make: (size) => file(`circuit_breakers:\n${numbered(size, (at) => `  - ability:a${at}*|abort\n`)}${steps(size)}`),
    },
    {
      name: 'a diagram',
      size: 100,
      make: (size) => {
        const read = chain(size);
        return () => renderGraph(read);
      },
    },
    {
      name: 'rules that are filled',
      size: 100,
      make: (size) => {
        const read = chain(size);
        const params = readParams(read, { x: 5 });
        return () => chainRules(read, params);
      },
    },
    {
      name: 'templates that are filled',
      size: 50_000,
      make: (size) => {
        const text = repeated('{{x}} ', size);
        return () => fillTemplates(text, { params: { x: 'y' }, outputs: {} });
      },
    },
    {
      name: 'a list that is filled',
      size: 2_000,
      make: (size) => {
        const list = Array(size).fill('{{x}}');
        return () => fillTemplates(list, { params: { x: 'y' }, outputs: {} });
      },
    },
    {
      name: 'a pattern with stars',
      size: 20_000,
      make: (size) => {
        const text = 'a'.repeat(size);
        const value = `${'*a'.repeat(size / 100)}b`;
        return () => evaluateCondition({ refKey: 't', op: 'matches', value }, { params: {}, outputs: { t: text } });
      },
    },
    ...rules.map((piece) => ({
      name: `a rule of ${JSON.stringify(piece)}`,
      size: ruleLengthMax / 2,
      make: (size: number) => {
        const text = repeated(piece, size);
        return () => {
          for (let i = 0; i < 20; i++) parseRule(`a>1|abort|${text}`) ?? parseRule(text);
          for (let i = 0; i < 20; i++) parseRule(text);
        };
      },
    })),
    ...['<nyaya>', '</nyaya>', '<nyaya></nyaya>', 'B:\n', 'B:a>1|abort\n', '\n', '- * > ', 'b ', '<'].map((piece) => ({
      name: `a block of ${JSON.stringify(piece)}`,
      size: 30_000,
      make: (size: number) => {
        const text = repeated(piece, size);
        return () => {
          parseNyaya(text, 'chain:c');
          parseNyaya(`<nyaya>${text}</nyaya>`, 'chain:c');
        };
      },
    })),
  ];
}

/** Measures every shape and says which grow too fast; true when none does. */
export function measureLinearity(log: (line: string) => void = console.log): boolean {
  const found = shapes().map(({ name, size, make }) => {
    const [one, two] = [make(size), make(2 * size)];
    for (let i = 0; i < 3; i++) one();
    let ratio = Number.POSITIVE_INFINITY;
    // Somebody else's work on the machine only makes it slower: the best of some tries counts.
    for (let round = 0; round < 6 && ratio > ratioMax; round++)
      ratio = Math.min(ratio, measureBest(two) / Math.max(measureBest(one), 0.05));
    return { name, ratio };
  });
  const slow = found.filter(({ ratio }) => ratio > ratioMax);
  for (const { name, ratio } of slow) log(`${name}: twice as much takes ${ratio.toFixed(2)} times as long`);
  const worst = Math.max(...found.map(({ ratio }) => ratio));
  log(`${found.length} shapes doubled: at most ${worst.toFixed(2)} times as long, ${slow.length} above ${ratioMax}`);
  return slow.length === 0;
}

/** The least CPU time of some runs, in milliseconds. */
function measureBest(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries; i++) {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}
