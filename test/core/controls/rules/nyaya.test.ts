import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseNyaya } from '../../../../src/core/controls/rules/nyaya.ts';

describe('the <nyaya> block', () => {
  it('keeps domain, goals and unknown lines, and reads every rule', () => {
    const text = [
      'Here is my plan.',
      '<nyaya>',
      'NEW:trade',
      'D:trading|medium',
      'G:ability:trading.execute,ability:trading.get_price',
      'B:amount>1000|abort|"Transaction exceeds $1000 limit"',
      'B:output:error|contains:fail|abort',
      '</nyaya>',
    ].join('\r\n');
    const { lines, rules, errors } = parseNyaya(text, 'chain:trade');
    assert.deepEqual(lines, {
      domain: 'trading|medium',
      goals: 'ability:trading.execute,ability:trading.get_price',
      other: ['NEW:trade'],
    });
    assert.deepEqual(
      rules.map((rule) => [rule.id, rule.origin]),
      [
        ['chain:trade|amount>1000|abort', 'model'],
        ['chain:trade|output:error|contains:fail|abort', 'model'],
      ],
    );
    assert.deepEqual(errors, []);
  });

  it('reads the last closed block', () => {
    const { rules } = parseNyaya('<nyaya>B:a>1|abort</nyaya> no, rather <nyaya>B:b>2|abort</nyaya>');
    assert.deepEqual(
      rules.map((rule) => rule.id),
      ['*|b>2|abort'],
    );
  });

  it('reports a block that is not closed', () => {
    const { rules, errors } = parseNyaya('<nyaya>B:a>1|abort</nyaya> <nyaya>\nB:b>2|abort');
    assert.equal(rules.length, 1);
    assert.deepEqual(errors, ['a <nyaya> block is not closed']);
  });

  it('ignores nested tags and still reads every rule', () => {
    const { rules, errors } = parseNyaya('<nyaya>\nB:a>1|abort\n<nyaya>B:b>2|abort\n</nyaya></nyaya>');
    assert.equal(rules.length, 2);
    assert.deepEqual(errors, []);
  });

  it('reports every unreadable rule line, also in lists and in lower case', () => {
    const { rules, errors } = parseNyaya('<nyaya>\nB:amount=5|abort\n- b:a>1|Abort\n* B:a>1|abort\n</nyaya>');
    assert.equal(rules.length, 1);
    assert.equal(errors.length, 2);
    assert.match(errors[0] ?? '', /amount=5/);
  });

  it('is limited in lines and characters', () => {
    const many = parseNyaya(`<nyaya>${'\nB:a>1|abort'.repeat(1_200)}</nyaya>`);
    assert.match(many.errors[0] ?? '', /at most 1000 lines/);
    assert.equal(many.rules.length, 999); // The first line is empty.
    const most = parseNyaya(`<nyaya>${'\nB:a>1|abort'.repeat(999)}</nyaya>`);
    assert.deepEqual([most.errors, most.rules.length], [[], 999]);
    const long = parseNyaya(`<nyaya>${'x'.repeat(70_000)}\nB:a>1|abort</nyaya>`);
    assert.match(long.errors[0] ?? '', /at most 65536 characters/);
    assert.deepEqual([long.rules, long.lines], [[], { other: [] }]);
    const rule = '\nB:a>1|abort';
    const full = parseNyaya(`<nyaya>${'x'.repeat(65_536 - rule.length)}${rule}</nyaya>`);
    assert.deepEqual([full.errors, full.rules.length], [[], 1]);
    assert.match(parseNyaya(7 as unknown as string).errors[0] ?? '', /must be text/);
  });

  it('reads no rule from hostile text of more than a million characters', () => {
    for (const text of [
      '<nyaya>'.repeat(200_000),
      '</nyaya>'.repeat(200_000),
      `<nyaya>${'- '.repeat(30_000)}</nyaya>`,
    ]) {
      assert.equal(parseNyaya(text).rules.length, 0);
    }
  });

  it('returns nothing for a text without a block', () => {
    assert.deepEqual(parseNyaya('B:a>1|abort'), { lines: { other: [] }, rules: [], errors: [] });
  });
});
