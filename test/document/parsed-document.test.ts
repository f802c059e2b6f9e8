import assert from 'node:assert/strict';
import test from 'node:test';
import { parseJson } from '../../src/document/parse-json.ts';
import { parseToml } from '../../src/document/parse-toml.ts';
import { parseYaml } from '../../src/document/parse-yaml.ts';
import { createPositionMap, type ParsedDocument } from '../../src/document/parsed-document.ts';

const documents: Readonly<Record<string, ParsedDocument>> = {
  TOML: parseToml('# x\n[a]\n  b = 1\n\n[[list]]\nc = [\n  2,\n]\n'),
  YAML: parseYaml('# x\na:\n  b: 1\n\nlist:\n- c: [2]\n'),
  JSON: parseJson('{\n"a": {\n  "b": 1 },\n\n"list": [\n{"c": [2]}] }'),
};

for (const [format, document] of Object.entries(documents)) {
  test(`${format}: a parsed document contains its values, and the line and column of each key`, () => {
    assert.ok(document.ok);
    assert.deepEqual(structuredClone(document.value), { a: { b: 1 }, list: [{ c: [2] }] });
    assert.deepEqual(document.positionOf(['a', 'b']), { line: 3, column: 3 });
    assert.equal(document.positionOf(['a'])?.line, 2);
    assert.equal(document.positionOf(['list'])?.line, 5);
    assert.equal(document.positionOf(['list', 0, 'c'])?.line, 6);
  });

  test(`${format}: an unknown path has the position of its nearest ancestor`, () => {
    assert.ok(document.ok);
    assert.deepEqual(document.positionOf(['a', 'b', 'x', 7]), { line: 3, column: 3 });
    assert.equal(document.positionOf(['x']), undefined);
    assert.equal(document.positionOf([]), undefined);
  });
}

const invalid: readonly (readonly [(text: string) => ParsedDocument, string, string, number, number])[] = [
  [parseToml, 'a = 1\na = 2', 'trying to redefine an already defined table or value', 2, 1],
  [parseYaml, 'a: 1\na: 2\n', 'Map keys must be unique', 2, 1],
  [parseYaml, 'a:\n\t- b\n', 'a tab stands where YAML wants spaces', 2, 1],
  [parseYaml, 'a: "b\n', 'a text in quotes has no end', 2, 1],
  [parseYaml, 'a: 1\n---\na: 2\n', 'a second document begins here: a file holds one document', 2, 1],
  [parseJson, '{\n"a": 1,\n"a": 2 }', 'Map keys must be unique', 3, 1],
  [parseJson, '{\n"a": 1', "Expected ',' or '}' after property value", 2, 7],
  [parseJson, '{\n"a":\n  nope }', 'Unexpected token \'o\', "{\n"a":\n  nope }" is not valid JSON', 3, 4],
  [parseJson, '', 'Unexpected end of JSON input', 1, 1],
];

for (const [parse, text, message, line, column] of invalid) {
  test(`${parse.name}: ${JSON.stringify(text)} has one problem with its place`, () => {
    const document = parse(text);
    assert.ok(!document.ok);
    assert.equal(document.problem.message, message);
    assert.deepEqual(document.problem.position, { line, column });
    assert.ok(document.problem.cause instanceof Error);
  });
}

test('a document that overflows the parser is reported as nested too deeply', () => {
  const document = parseYaml('['.repeat(100_000));
  assert.ok(!document.ok);
  assert.equal(document.problem.message, 'it is nested too deeply');
});

test('a second position of the same path does not replace the first', () => {
  const positions = createPositionMap();
  positions.add(['a'], { line: 1, column: 1 });
  positions.add(['a'], { line: 2, column: 1 });
  assert.equal(positions.positionOf(['a', 0])?.line, 1);
});
