/** Claude works on something dear: once its money is spent, its next call is denied and the query ends. */

import assert from 'node:assert/strict';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { createSwitchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/claude-agent-sdk';
import { createClaudeCli } from '../../claude-agent-sdk/fake-cli.ts';

let edits = 0;
const turns = Array.from({ length: 30 }, (_, file) => ({
  text: `Now file ${file}.`,
  calls: [{ tool: 'Edit', input: { file } }],
  tokens: 20_000,
}));
const seen = { modelCalls: 0, approvalsAsked: 0, toolResults: [] };

const gear = createSwitchgear({ agent: 'Coder', log: 'silent', policy: { task: { max_spend_cents: 200 } } });
const guarded = protect(query, { gear });
const options = {
  pathToClaudeCodeExecutable: 'claude',
  // Stands in for Claude Code; leave these two out to run the real one.
  spawnClaudeCodeProcess: () =>
    createClaudeCli({ turns, tools: { Edit: () => `${++edits} files edited` }, gear, stepsMax: 30 }, seen),
};

let reason: { code?: string; explanation?: string } = {};
for await (const message of guarded({ prompt: 'Rewrite it all.', options })) {
  if (message.type === 'result') reason = Reflect.get(message, 'switchgear') ?? {};
}

console.log(`${edits} edits, ${seen.modelCalls} model calls, then: ${reason.explanation}`);
assert.equal(reason.code, 'token_spend_limit');
assert.ok(edits < 30);
