import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutantsOf, plantedIn, strippedOf } from './mutants.ts';
import { findRelatedTests } from './related-tests.ts';

const slips = (source: string) => mutantsOf('x.ts', source).map(({ was, becomes }) => `${was} → ${becomes}`);

test('comparisons, sums, logic, numbers, switches and words are mistaken for others', () => {
  assert.deepEqual(slips('export const f = (a: number, b?: number) => a <= 4;'), ['<= → <', '<= → >', '4 → 5']);
  assert.deepEqual(slips('const f = a === b;'), ['=== → !==']);
  assert.deepEqual(slips('const f = a + b * 2_000 - c;'), ['+ → -', '* → /', '2_000 → 2001', '- → +']);
  assert.deepEqual(slips('const f = (a && !b) || c;'), ['&& → ||', '! → ', '|| → &&']);
  assert.deepEqual(slips('const f = a ?? Math.max(b, c);'), ['?? → &&', 'max → min']);
  assert.deepEqual(slips("const f = { on: true, kind: 'halt', name: 'budget' };"), [
    'true → false',
    "'halt' → 'deny'",
    "'budget' → '_'",
  ]);
});

test('statements go, and conditions turn around where no comparison does so already', () => {
  assert.deepEqual(slips('x.count++; // Why.'), ['x.count++; → ;', '++ → --']);
  assert.deepEqual(slips('x.count = y;'), ['x.count = y; → ;']);
  assert.deepEqual(slips('tell(x);'), ['tell(x); → ;']);
  assert.deepEqual(slips('if (has(x)) tell();'), ['if (has(x)) tell(); → ;', '(has(x)) → (!(has(x)))']);
  assert.deepEqual(slips('if (a === b) tell();'), ['if (a === b) tell(); → ;', '=== → !==']);
});

test('types, comments, words for people, patterns and imports are left alone', () => {
  const source = `import { a } from 'somewhere';
/** 1 + 1 */
interface X { readonly kind: 'halt' | 'deny'; readonly of: Map<string, 5> }
const text = 'more than ' + 'one word' as 'x';
const pattern = /a+b{2}/;
const told = \`1 + 1 > \${text}\`;
`;
  assert.deepEqual(slips(source), []);
});

test('a slip is planted where it was found, and nowhere else', () => {
  const code = strippedOf('const a: number = 1 + 1;');
  const [first, second] = mutantsOf('x.ts', code).filter(({ was }) => was === '1');
  assert.equal(plantedIn(code, first!), code.replace('1 +', '2 +'));
  assert.equal(plantedIn(code, second!), code.replace('+ 1', '+ 2'));
  assert.throws(() => plantedIn('const b = 2;', first!), /does not stand at/);
});

test('the tests beside a file come first, then those that reach it', () => {
  const { near, far } = findRelatedTests('src/core/controls/budget/budget.ts');
  const folder = 'test/core/controls/budget';
  assert.deepEqual(near, [`${folder}/budget.test.ts`, `${folder}/joint-budget.test.ts`]);
  assert.ok(far.includes('test/clauses/black-box-limits.test.ts'));
  assert.ok(!far.includes('test/core/controls/budget/budget.test.ts'));
  assert.ok(!far.includes('test/core/similarity.test.ts'));
  assert.ok(
    findRelatedTests('src/core/controls/breaker/phases.ts').near.includes(
      'test/core/controls/breaker/half-open.test.ts',
    ),
  );
});
