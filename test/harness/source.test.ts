import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeOf, listEntryPoints, listExports, listImports, listValueImports } from './source.ts';

/** Code with its blanks squeezed, to compare by eye. */
const squeezed = (source: string, keep: 'text' | 'nothing') => codeOf(source, keep).replace(/\s+/g, ' ').trim();

test('comments are blanked, line by line', () => {
  const source = 'a(); // Date.now()\n/* Date\n   Date */ b();';
  assert.equal(squeezed(source, 'text'), 'a(); b();');
  assert.equal(codeOf(source, 'text').split('\n').length, 3);
  assert.equal(codeOf(source, 'text').length, source.length);
});

test('a comment mark inside text is text, and a quote inside a comment is a comment', () => {
  assert.equal(squeezed(`f('// no', "/* no */"); // it's`, 'text'), `f('// no', "/* no */");`);
  assert.equal(squeezed(`f('it\\'s', x); // it's`, 'nothing'), 'f( , x);');
});

test('templates are text, but what stands in their expressions is code', () => {
  assert.equal(squeezed('x = `Date ${Date.now({ a: `b${c}` })} Date`; y', 'nothing'), 'x = Date.now({ a: c }) ; y');
});

test('a slash that divides is code, and a pattern is text', () => {
  assert.equal(squeezed('a = b / c / d;', 'nothing'), 'a = b / c / d;');
  assert.equal(squeezed(`a = /['"\`[/]]\\//.test(b) || 'Date';`, 'nothing'), 'a = .test(b) || ;');
});

test('imports are found in every form, and not in text or comments', () => {
  const source = `import a, { type B } from './a.ts';
import type { C } from './c.ts';
import './side.ts';
export { d } from './d.ts';
export {
  type E,
} from './e.ts';
export * from './f.ts';
const lazy = await import('./lazy.ts');
// import './no.ts'
export const text = "import './no.ts'";
export type F = 'not a path';`;
  assert.deepEqual(listImports(source).sort(), [
    './a.ts',
    './c.ts',
    './d.ts',
    './e.ts',
    './f.ts',
    './lazy.ts',
    './side.ts',
  ]);
});

test('imports of values are distinguished from imports of types', () => {
  const source = `import type { A } from './a.ts';
import { type B } from './b.ts';
import { type C, d } from './c.ts';
import {
  type E,
  type F,
} from './e.ts';
export { g } from './g.ts';
export type { H } from './h.ts';
import './i.ts';
const lazy = () => import('./lazy.ts');`;
  assert.deepEqual(listValueImports(source), ['./c.ts', './g.ts', './i.ts']);
});

test('exports are found in every form, values and types apart', () => {
  const source = `export const a = 1;
export async function b() {}
export class C {}
export interface D {}
export type E = 1;
export { f, g as h, type I } from './x.ts';
export type { J, K as L } from './y.ts';
const hidden = 1;`;
  assert.deepEqual(listExports(source), { values: ['C', 'a', 'b', 'f', 'h'], types: ['D', 'E', 'I', 'J', 'L'] });
});

test('the doors are those of package.json, as sources', () => {
  const found = listEntryPoints();
  assert.deepEqual(found[0], { name: 'switchgear', path: 'src/index.ts' });
  assert.ok(found.some(({ name, path }) => name === 'switchgear/testing' && path === 'src/testing/index.ts'));
  assert.ok(!found.some(({ path }) => path.endsWith('.json')));
});
