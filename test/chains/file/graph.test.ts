import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Chain } from '../../../src/chains/file/chain.ts';
import { renderGraph } from '../../../src/chains/file/graph.ts';

const chain: Chain = {
  id: 'c',
  params: [],
  ruleSettings: {},
  rules: [
    { target: 'chain:c', condition: 'price>{{max}}', action: 'abort' },
    { target: 'chain:c', condition: 'frequency>3/1d', action: 'throttle' },
    { target: 'chain:c', condition: 'ability:pay*', action: 'confirm' },
    { target: 'chain:c', condition: 'output:price.text|contains:no', action: 'abort' },
  ],
  steps: [
    { id: 'fetch', ability: 'shop.price', args: {}, outputKey: 'price', idempotent: false },
    {
      id: 'buy',
      ability: 'pay',
      args: {},
      idempotent: false,
      condition: { refKey: 'price', op: 'less_than', value: 5 },
    },
    { id: 'tell', ability: 'mail', args: {}, idempotent: false },
  ],
};

test('the diagram has steps in order, conditions as forks, and rules beside their steps', () => {
  assert.equal(
    renderGraph(chain),
    `flowchart TD
  start(["c"])
  s1["fetch<br/>shop.price"]
  s1 -- "price" --> c2
  c2{"price less_than 5"}
  c2 -- yes --> s2
  c2 -- no --> s3
  s2["buy<br/>pay"]
  s2 --> s3
  s3["tell<br/>mail"]
  s3 --> done
  done([done])
  start --> s1
  r1>"price#62;#123;#123;max#125;#125;<br/>abort"]
  r1 -.- s1
  r2>"frequency#62;3/1d<br/>throttle"]
  r2 -.- start
  r3>"ability:pay*<br/>confirm"]
  r3 -.- s2
  r4>"output:price.text#124;contains:no<br/>abort"]
  r4 -.- s1
`,
  );
});

test('text from the chain file cannot break out of its quoted label', () => {
  const nasty = 'x"]\n  s9["boo"] --> s1; %%{init: {}}%% `a` #quot; <script> & ‮';
  const text = renderGraph({
    ...chain,
    name: nasty,
    rules: [{ target: 'chain:c', condition: nasty, action: 'abort' }],
    steps: [
      { id: 'a', ability: 'b', args: {}, idempotent: false, condition: { refKey: 'k', op: 'equals', value: nasty } },
    ],
  });
  assert.equal(text.split('\n').length, 12);
  for (const line of text.split('\n')) assert.match(line, /^(flowchart TD| {2}\w+( |\(|\[|\{|>).*|)$/);
  const labels = text.replaceAll('<br/>', '').match(/"[^"]*"/g) ?? [];
  for (const label of labels) assert.match(label, /^"[^"`%<>&{}[\]|\\\n‮]*"$/u);
});
