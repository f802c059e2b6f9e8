/** A digest of the mailbox that is sent only after a yes: for once, or for always. What must not go out never does. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Approver } from 'switchgear/approvers';
import { createChains, functionAbilities, loadChain, mcpAbilities } from 'switchgear/chains';

const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'email-digest-'));
const outbox = join(folder, 'outbox.jsonl');

let lasts: 'once' | 'always' = 'once';
const asked: string[] = [];
const person: Approver = {
  name: 'story',
  async ask(card) {
    asked.push(lasts);
    console.log(`  asked: ${card.evidence.join(' | ')} yes, ${lasts}`);
    return { approved: true, by: 'ann', ...(lasts === 'always' && { for: lasts }) };
  },
};

interface Letter {
  readonly from: string;
  readonly subject: string;
}

/** What a model would write; here it is a list. */
const digest = functionAbilities({
  'digest.compose': ({ letters }) => (letters as Letter[]).map(({ from, subject }) => `${from}: ${subject}`).join('\n'),
});

const config: unknown = JSON.parse(readFileSync(join(here, 'mcp.json'), 'utf8'));
const mail = mcpAbilities(config, {
  cwd: here,
  env: { ...process.env, EXAMPLE_NODE: process.execPath, OUTBOX: outbox },
});
const chains = createChains({ abilities: [mail, digest], approver: person, log: 'silent' });
const chain = loadChain(join(here, 'chain.yaml'));

try {
  const first = await chains.run(chain, { to: 'ann@example.com' });
  assert.deepEqual([first.status, asked], ['done', ['once']]);
  console.log('sent, as a person said yes');

  lasts = 'always';
  const second = await chains.run(chain, { to: 'ann@example.com' });
  assert.deepEqual([second.status, asked], ['done', ['once', 'always']]);
  console.log('sent, as a person said yes for always');

  const third = await chains.run(chain, { to: 'ann@example.com' });
  assert.deepEqual([third.status, asked.length], ['done', 2]);
  console.log('sent without a question');

  const secret = await chains.run(chain, { to: 'ann@example.com', folder: 'private' });
  assert.deepEqual([secret.status, secret.end?.code], ['aborted', 'rule_abort']);
  console.log(`stopped: ${secret.end?.message}`);

  const sent = readFileSync(outbox, 'utf8').trim().split('\n');
  assert.deepEqual(JSON.parse(sent[0] ?? ''), {
    to: 'ann@example.com',
    body: 'bo@example.com: The plan for Monday\ncy@example.com: Numbers of October',
  });
  assert.ok(sent.every((letter) => !letter.includes('password')));
} finally {
  await chains.close();
  rmSync(folder, { recursive: true, force: true });
}
