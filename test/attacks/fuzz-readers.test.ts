/**
 * Recorded lines with hostile values in random places, for every reader, the renderer, the evidence of a halt and the
 * payloads of hooks. `SWITCHGEAR_FUZZ_LINES` sets the number of lines per reader, and the seed is in every title.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claudeSessionReader } from '../../src/agents/claude-code/session-file.ts';
import { codexSessionReader } from '../../src/agents/codex/session-file.ts';
import { geminiSessionReader } from '../../src/agents/gemini/session-file.ts';
import { type AgentEvent, accountEvents, fallbackReader, type Reader } from '../../src/agents/index.ts';
import { readOpencodeExport } from '../../src/agents/opencode/session.ts';
import { createCallEvidence } from '../../src/cli/run/evidence.ts';
import { createEventRenderer } from '../../src/cli/run/render-events.ts';
import { hosts } from '../../src/hooks/hosts/index.ts';
import { createSwitchgear } from '../../src/index.ts';
import { type Cli, clis, readers, recordings } from '../agents/recording.ts';

const seed = 20_260_101;
const linesPerReader = Number(process.env.SWITCHGEAR_FUZZ_LINES ?? 1_500);

function createRandom(start: number): (below: number) => number {
  let state = start;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const brackets = '['.repeat(6_000) + ']'.repeat(6_000);
/** Hostile values as JSON: none is what a reader expects. */
const hostile = [
  brackets,
  `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`,
  '{"toString":1,"valueOf":1}',
  '[{"toString":1}]',
  '{"__proto__":{"toString":1}}',
  '{"constructor":null,"then":1,"length":1e9}',
  'null',
  'true',
  '-1',
  '1e308',
  '""',
  '"\\ud800\\u202e\\u001b[2J"',
  `"${'a'.repeat(10_000)}"`,
  '[]',
  '{}',
];

/** Replaces some values of a JSON text by hostile ones. */
function mutate(text: string, random: (below: number) => number): string {
  const values = [
    ...text.matchAll(/(?<=[:[,])(?:"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d+(?:\.\d+)?|true|false|null|\{\}|\[\])/g),
  ];
  const chosen = new Set(Array.from({ length: 1 + random(3) }, () => random(Math.max(1, values.length))));
  let mutated = text;
  for (const at of [...chosen].sort((a, b) => b - a)) {
    const { index, 0: value } = values[at] ?? { index: -1, 0: '' };
    if (index < 0) continue;
    mutated = mutated.slice(0, index) + hostile[random(hostile.length)]! + mutated.slice(index + value.length);
  }
  return mutated;
}

const recordedLines = (cli: Cli) =>
  recordings()
    .filter((recording) => recording.cli === cli)
    .flatMap(({ lines }) => lines.map(({ line }) => line))
    .filter((line) => line.startsWith('{') && line.length < 20_000);

const sessionReaders: Readonly<Record<Cli, () => Reader>> = {
  'claude-code': () => claudeSessionReader(),
  codex: () => codexSessionReader(),
  gemini: () => geminiSessionReader(),
  opencode: () => ({ read: (line) => readOpencodeExport(line), end: () => [] }),
};

/** Feeds events to everything that shows or counts them. */
function createSinks() {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const limits = { maxToolCalls: 1_000_000, maxSpendCents: 1_000_000_000 };
  const accounting = accountEvents(gear, gear.startTask({ limits }));
  const lines: string[] = [];
  const screen = {
    out: () => undefined,
    err: () => undefined,
    pendingDrain: () => undefined,
    printLine: (line: string) => lines.push(line.slice(0, 1_000)),
    close: () => undefined,
  };
  const renderer = createEventRenderer(screen, (text) => text, false);
  const evidence = createCallEvidence();
  return {
    feed(event: AgentEvent) {
      accounting.account(event);
      renderer.render(event);
      evidence.feed(event);
    },
    end() {
      renderer.end(true);
      evidence.describe();
      assert.equal(gear.snapshot().internalErrors, 0);
      for (const line of lines) assert.doesNotMatch(line, /[\p{Cc}\p{Cf}\p{Cs}]/u);
      gear.dispose();
    },
  };
}

for (const cli of clis) {
  const kinds = { stream: readers[cli], 'session file': sessionReaders[cli], fallback: fallbackReader };
  for (const [kind, makeReader] of Object.entries(kinds)) {
    test(`attack 06: no mutated line of ${cli} ends its ${kind} reader or what shows its events (seed ${seed})`, () => {
      const random = createRandom(seed);
      const lines = recordedLines(cli);
      const reader = makeReader();
      const sinks = createSinks();
      for (let at = 0; at < linesPerReader; at++) {
        const line = mutate(lines[random(lines.length)]!, random);
        for (const event of reader.read(line)) sinks.feed(event);
      }
      for (const event of reader.end()) sinks.feed(event);
      sinks.end();
    });
  }
}

const payload = JSON.stringify({
  session_id: 's',
  cwd: '/x',
  transcript_path: '/x/y',
  hook_event_name: 'NAME',
  prompt: 'go',
  tool_name: 'Task',
  tool_use_id: 'c',
  tool_input: { command: 'ls', subagent_type: 'a', prompt: 'b' },
  tool_response: { isError: true, llmContent: [{ text: 'a' }], error: { message: 'm' }, agentId: 'a', status: 's' },
  error: 'e',
  agent_id: 'g',
  mcp_context: {},
});
const eventNames = [
  ...['PreToolUse', 'PostToolUse', 'PostToolUseFailure', 'PostToolBatch', 'UserPromptSubmit', 'SubagentStart'],
  ...['SubagentStop', 'Stop', 'SessionEnd', 'BeforeTool', 'AfterTool', 'BeforeAgent', 'AfterAgent'],
];

for (const host of Object.values(hosts)) {
  test(`attack 06: no mutated payload ends the hook of ${host.name} (seed ${seed})`, () => {
    const random = createRandom(seed);
    for (let at = 0; at < linesPerReader; at++) {
      const name = eventNames[random(eventNames.length)]!;
      const parsed = JSON.parse(mutate(payload, random).replace('"NAME"', `"${name}"`)) as Record<string, unknown>;
      const event = host.read(parsed);
      host.transcript(parsed);
      host.answer(event, { kind: 'deny', reason: 'no' });
    }
  });
}
