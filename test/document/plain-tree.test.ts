import assert from 'node:assert/strict';
import test from 'node:test';
import { readPlainDocument, toPlainData } from '../../src/document/plain-tree.ts';

const limits = { valuesMax: 10, depthMax: 2, textMax: 5 };

/** The problems of a text, as `line:column path detail`. */
function problemsOf(text: string, format: 'YAML' | 'JSON' = 'YAML'): readonly string[] {
  const { problems } = readPlainDocument(text, format, limits);
  return problems.map(
    ({ position, path, detail }) => `${position.line}:${position.column} ${path.join('.')} ${detail}`,
  );
}

test('a tree contains every value with its position, and converts to plain data', () => {
  const { tree, positionOf, problems } = readPlainDocument('a: 1\nb:\n  - x\n  -\n', 'YAML', limits);
  assert.deepEqual(problems, []);
  assert.ok(tree?.kind === 'table');
  assert.deepEqual(toPlainData(tree), { a: 1, b: ['x', null] });
  assert.deepEqual(positionOf(['b', 0]), { line: 3, column: 5 });
  const list = tree.entries.get('b')?.value;
  assert.ok(list?.kind === 'list');
  assert.equal(list.items[0]?.column, 5);
});

test('a JSON document has the same tree as the equal YAML document', () => {
  const json = readPlainDocument('{"a": [1, "b"]}', 'JSON', limits);
  assert.deepEqual(json.tree && toPlainData(json.tree), { a: [1, 'b'] });
  assert.deepEqual(problemsOf('a: 1', 'JSON').length, 1);
  assert.match(problemsOf('{"a":\n}', 'JSON').join(), /^2:1 {2}no valid JSON: /);
});

test('anything but plain data is a problem at its path', () => {
  assert.deepEqual(problemsOf('a: &x 1\nb: *x\nc: !!str 1\n'), [
    '1:7 a has an anchor: leave it out',
    '2:4 b is an alias: write the value itself',
    '3:10 c has a tag: leave it out',
  ]);
  assert.deepEqual(problemsOf('a: 007\nb: .inf\n'), [
    '1:4 a would be read as 7: put it in quotes',
    '2:4 b must be a finite number, got Infinity',
  ]);
  assert.deepEqual(problemsOf('a: 1\na: 2\n"abcdef": 3\n'), [
    '2:1  has the key "a" twice, first in line 1',
    '3:1  has a key of 6 characters',
  ]);
});

test('names that reach a prototype, such as __proto__, are reserved', () => {
  const { problems } = readPlainDocument('__proto__: 3', 'YAML', { ...limits, textMax: 20 });
  assert.equal(problems[0]?.detail, 'has the key "__proto__", which is reserved');
});

test('too many values, too many levels and too long texts are problems', () => {
  assert.deepEqual(problemsOf('a: [[[1]]]'), ['1:6 a.0.0 is deeper than 2 levels']);
  assert.deepEqual(problemsOf('a: abcdef'), ['1:4 a must have at most 5 characters, got 6']);
  assert.deepEqual(problemsOf(`[${'1, '.repeat(20)}]`), ['1:29  the file has more than 10 values']);
});
