import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCondition, parseFailure, unquote } from '../../../../src/core/controls/rules/condition.ts';
import { frequencyHistoryMax, frequencyWindowMaxMs } from '../../../../src/core/limits.ts';

const error = (text: string) => parseCondition(text).error;

test('unquote removes one matching pair of quotes', () => {
  const rows: readonly [string, string][] = [
    ['"a"', 'a'],
    ["'a'", 'a'],
    ['""', ''],
    ['"', '"'],
    ['"a', '"a'],
    ['"a\'', '"a\''],
    ['""a""', '"a"'],
    ['aba', 'aba'],
  ];
  for (const [text, bare] of rows) assert.equal(unquote(text), bare, text);
});

test('a parse error quotes the beginning of a long text, and the type of a value that is not text', () => {
  const long = 'abcdefgh'.repeat(100);
  const { error: whole } = parseFailure('no', long);
  const shown = /^no, got "(.*)…"$/.exec(whole)?.[1] ?? '';
  assert.ok(shown.length > 0 && long.startsWith(shown) && shown.length < long.length, whole);
  const fits = long.slice(0, shown.length);
  assert.equal(parseFailure('no', fits).error, `no, got "${fits}"`, 'what just fits is not cut');
  assert.equal(parseFailure('no', 5).error, 'no, got "number"');
});

test('a frequency needs a count and a window within limits, and its window is written in the largest unit', () => {
  const rows: readonly [text: string, count: number, windowMs: number, window: string][] = [
    ['frequency>0', 0, 3_600_000, '1h'],
    ['frequency>3/', 3, 3_600_000, '1h'],
    ['frequency>3/60s', 3, 60_000, '1m'],
    ['frequency>3/90s', 3, 90_000, '90s'],
    ['frequency>3/48h', 3, 172_800_000, '2d'],
    ['frequency>3/1s', 3, 1_000, '1s'],
    [`frequency>${frequencyHistoryMax - 1}/1d`, frequencyHistoryMax - 1, 86_400_000, '1d'],
    [`frequency>1/${frequencyWindowMaxMs / 1000}s`, 1, frequencyWindowMaxMs, `${frequencyWindowMaxMs / 3_600_000}h`],
  ];
  for (const [text, count, windowMs, window] of rows) {
    assert.deepEqual(parseCondition(text), { condition: { kind: 'frequency', count, windowMs, text: window } }, text);
  }
  const counts = `frequency count must be a whole number from 0 to ${frequencyHistoryMax - 1}`;
  assert.equal(error('frequency>/1h'), `${counts}, got ""`);
  assert.equal(error(`frequency>${frequencyHistoryMax}`), `${counts}, got "${frequencyHistoryMax}"`);
  assert.equal(error('frequency>-1'), `${counts}, got "-1"`);
  for (const window of ['0s', '1w', 'h', '1.5h', `${frequencyWindowMaxMs / 1000 + 1}s`]) {
    assert.match(error(`frequency>1/${window}`) ?? '', /^frequency window must be/, window);
  }
});
