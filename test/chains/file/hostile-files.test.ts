/** Chain files that mean harm: they are refused with a place, in bounded time and memory, and leave nothing behind. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readChain } from '../../../src/chains/index.ts';
import {
  chainBytesMax,
  chainDepthMax,
  chainParamsMax,
  chainProblemsMax,
  chainRulesMax,
  chainStepsMax,
  chainTextMax,
  chainValuesMax,
} from '../../../src/core/limits.ts';

const small = 'id: c\nsteps:\n  - id: s\n    ability: a\n';

function told(text: string, file?: string): string {
  const { chain, problems } = readChain(text, file);
  assert.equal(chain, undefined);
  assert.ok(problems.length > 0 && problems.length <= chainProblemsMax);
  for (const { line, column, message } of problems) assert.ok(line >= 1 && column >= 1 && message.length < 1_000);
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`).join('\n');
}

test('a text of one megabyte is refused with its position', () => {
  const long = `${small}    args:\n      a: "${'x'.repeat(1_048_576)}"\n`;
  assert.match(told(long), /^6:1 the file has \d+ bytes, at most 262144; its longest line is here$/);
  const shorter = `${small}    args:\n      a: "${'x'.repeat(chainTextMax + 1)}"\n`;
  assert.match(told(shorter), /^6:10 steps\[0\]\.args\.a must have at most 65536 characters, got 65537$/);
});

test('a YAML bomb is refused because of its anchors, without expanding it', () => {
  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
  for (let i = 1; i < 12; i++) {
    const [name, before] = [String.fromCharCode(97 + i), String.fromCharCode(96 + i)];
    bomb.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join()}]`);
  }
  const text = told(`${small}    args:\n${bomb.map((line) => `      ${line}\n`).join('')}`);
  assert.match(text, /^6:13 steps\[0\]\.args\.a has an anchor: leave it out\n/);
  assert.match(told(`${small}    args: &a\n      b: *a\n`), /has an anchor/);
  assert.match(told(`${small}<<: { id: d }\n`), /5:1 "<<" is not known here/);
});

test('depth, values, steps, parameters and rules have bounds', () => {
  const deep = (levels: number) => `${small}    args: { a: ${'['.repeat(levels)}${']'.repeat(levels)} }\n`;
  assert.match(told(deep(chainDepthMax)), new RegExp(`is deeper than ${chainDepthMax} levels`));
  assert.ok(readChain(deep(chainDepthMax - 4)).chain);
  assert.match(told(deep(50_000)), /nested too deeply|no valid YAML|deeper than/);
  assert.match(
    told(`${small}    args: { a: [${'1,'.repeat(chainValuesMax)}] }\n`),
    /the file has more than 10000 values/,
  );
  const many = (key: string, item: string, count: number) => `${key}:\n${`  - ${item}\n`.repeat(count)}`;
  assert.match(
    told(`id: c\n${many('steps', '{ id: s, ability: a }', chainStepsMax + 1)}`),
    /2:1 steps must have at most 200 items, got 201/,
  );
  assert.match(
    told(`${many('params', '{ name: p }', chainParamsMax + 1)}${small}`),
    /1:1 params must have at most 100 items/,
  );
  assert.match(
    told(`${many('circuit_breakers', 'a>1|abort', chainRulesMax + 1)}${small}`),
    /circuit_breakers must have at most 1000 items/,
  );
});

test('only the first of very many problems are reported', () => {
  const text = `id: c\nsteps:\n${'  - { id: "?", ability: "?" }\n'.repeat(chainStepsMax)}`;
  assert.equal(told(text).split('\n').length, chainProblemsMax);
});

test('a file that is not text, or not like a chain, is refused', () => {
  for (const text of [
    '\0',
    '\ud800',
    '{',
    '[',
    '"',
    "'",
    '|',
    '>',
    '!',
    '&',
    '*',
    '%',
    '@',
    '`',
    '?',
    ':',
    '-',
    '---',
    '...',
    '\t',
    '\ufeff',
    '{}',
    '[]',
    'null',
    '~',
    '5',
    'true',
  ])
    for (const file of ['c.yaml', 'c.json']) told(text, file);
  for (const text of [undefined, null, 5, {}, Symbol('x')]) told(text as unknown as string);
});

test('no chain file can set a property of a prototype', () => {
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    for (const text of [
      `${small}    args: { ${name}: { polluted: 1 } }\n`,
      `${small}    args: { a: [{ ${name}: 1 }] }\n`,
      `${small}    circuit_breaker: { ${name}: 1 }\n`,
      `${small}    output_key: ${name}\n`,
      `params: [{ name: ${name} }]\n${small}`,
      `${name}: { polluted: 1 }\n${small}`,
      small.replace('id: s', `id: ${name}`),
      small.replace('id: c', `id: ${name}`),
      `{"id":"c","steps":[{"id":"s","ability":"a","args":{"${name}":{"polluted":1}}}]}`,
    ]) {
      told(text);
    }
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  assert.equal(Object.getOwnPropertyNames(Object.prototype).join(), before);
});

test('reading any text returns a chain or problems with positions, and never throws', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 400, unit: 'binary' }), fc.boolean(), (text, isJson) => {
      const { chain, problems } = readChain(text, isJson ? 'c.json' : 'c.yaml');
      assert.equal(chain === undefined, problems.length > 0);
    }),
    { numRuns: 2_000 },
  );
});

test('a file of exactly the maximum size is read, and one byte more is refused', () => {
  const fits = `${small}# ${'x'.repeat(chainBytesMax - small.length - 3)}\n`;
  assert.equal(Buffer.byteLength(fits), chainBytesMax);
  assert.ok(readChain(fits).chain);
  assert.match(told(`${fits}#`), /the file has 262145 bytes/);
});
