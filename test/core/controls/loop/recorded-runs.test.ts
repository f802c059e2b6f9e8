/** Loops in recorded runs of real agents: what is ended, where, and that nothing but the past decides it. */

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Detector } from '../../../../bench/detectors/detector.ts';
import { createPolicyDetector, makeObservation } from '../../../../bench/detectors/policy-detector.ts';
import { type Run, readRuns } from '../../../../bench/detectors/runs.ts';
import { createSwitchgear, type Task } from '../../../../src/index.ts';
import { simulatedClock } from '../../../../src/testing/index.ts';
import { root } from '../../../harness/source.ts';

const file = join(root, 'test/fixtures/runs.jsonl.gz');
const script = join(root, 'bench/detectors.ts');
let runs: readonly Run[];

before(async () => {
  runs = await readRuns(file, () => {});
});

/** The event at which a run is ended, from 1; 0 if it never is. */
function haltOf(detector: Detector, run: Run, events = run.events): number {
  const watch = detector.watch({ ...run, events });
  return events.findIndex((event, index) => watch.see(event, index)) + 1;
}

const named = (id: string) => runs.find(({ run_id }) => run_id === id)!;

test('recorded loops halt at the expected event, and recorded runs without a loop do not halt', () => {
  const detector = createPolicyDetector('default', {});
  const ended: Record<string, number> = {
    'tau2-699800-11': 66, // transfer_to_human_agents, a thirteenth time: its answer is short
    'tau2-da9633-38': 66, // get_details_by_id, 75 times
    'ad-gpt-4o-2024-05-13-repeat_user_prompt-banking-user_task_3': 55, // the same payment, a thirteenth time
    'ic-bash-gpt-3.5-react-2-11': 0, // one error behind many commands: a suspicion
    'ic-sql-text-davinci-003-tryagain-0-934': 0, // four times the same query, then the right one
    'ic-bash-text-davinci-003-tryagain-3-40': 0,
    'taubench-grok3-retail-21-0-21': 0, // transient 503s
    'tau2-699800-12': 0,
    'mosm-gpt-4o-django__django-11583': 0,
  };
  const found = Object.keys(ended).map((id) => [id, haltOf(detector, named(id))]);
  assert.deepEqual(Object.fromEntries(found), ended);
});

test('a halt never depends on later events', () => {
  for (const policy of [{}, { preset: 'cautious' }, { preset: 'strict' }]) {
    const detector = createPolicyDetector('any', policy);
    let halts = 0;
    for (const run of runs) {
      const at = haltOf(detector, run);
      if (at === 0) continue;
      halts++;
      // Whether a response holds calls is known with it, so a cut falls after them.
      const next = run.events.findIndex((event, index) => index >= at && event.type !== 'tool_call');
      assert.equal(haltOf(detector, run, run.events.slice(0, next < 0 ? undefined : next)), at, run.run_id);
      const before = run.events.slice(0, at - 1);
      if (before.at(-1)?.type !== 'assistant') assert.equal(haltOf(detector, run, before), 0, run.run_id);
    }
    assert.ok(halts >= 5, `${halts} halts`);
  }
});

test('signs of life and usage between the events do not change the halts', () => {
  const detector = createPolicyDetector('default', {});
  const noise = (task: Task, index: number) => {
    task.observe({ type: 'heartbeat' });
    task.observe({ type: 'usage', id: `u${index}`, model: 'claude-sonnet-4', inputTokens: 1, outputTokens: 1 });
  };
  for (const run of runs) assert.equal(observed(run, noise), haltOf(detector, run), run.run_id);
});

function observed(run: Run, between: (task: Task, index: number) => void): number {
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {} });
  let at = 0;
  void gear.task({}, (task) => {
    at =
      run.events.findIndex((event, index) => {
        between(task, index);
        return task.observe(makeObservation(run, event, index));
      }) + 1;
  });
  return at;
}

test('the loop state of a task is at most 64 kB, however long the task runs and whatever the task reads', async () => {
  const gear = createSwitchgear({
    clock: simulatedClock(),
    log: 'silent',
    env: {},
    policy: { task: { max_tool_calls: 1_000_000 } },
  });
  const huge = 'lorem ipsum '.repeat(870_000);
  const texts = Array.from({ length: 60 }, (_, step) =>
    Array.from({ length: 700 }, (_, at) => `w${String.fromCharCode(97 + (step % 26))}${step}x${at}`).join(' '),
  );
  texts[30] = `30 ${huge}`;
  const live = (task: Task) => {
    for (const [i, text] of texts.entries()) {
      task.observe({ type: 'assistant', text, toolUse: true });
      task.observe({ type: 'tool_use', id: `c${i}`, name: `tool ${i % 7}`, input: i % 2 ? text : { text, i } });
      task.observe({ type: 'tool_result', id: `c${i}`, output: `${text} ${task.id} ${i}` });
    }
  };
  const count = 40;
  const endings: (() => void)[] = [];
  const running = Array.from({ length: count }, () =>
    gear.task({}, (task) => {
      live(task);
      return new Promise<void>((resolve) => {
        endings.push(resolve);
      });
    }),
  );
  const used = heapUsed();
  for (const end of endings) end();
  const results = await Promise.all(running);
  assert.ok(results.every(({ status }) => status === 'done'));
  running.length = 0;
  const each = (used - heapUsed()) / count;
  assert.ok(each > 1_024 && each < 64 * 1024, `${Math.round(each)} bytes per task`);
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test('the command prints every detector as a table and as JSON, by group if requested', () => {
  const run = (...args: string[]) => execFileSync(process.execPath, [script, file, ...args], { encoding: 'utf8' });
  const { runs: count, detectors } = JSON.parse(run('--json'));
  assert.equal(count, runs.length);
  const [first] = detectors;
  assert.deepEqual([first.name, first.goodTotal + first.badTotal], ['default', runs.length]);
  for (const key of ['goodHalted', 'badHalted', 'eventsSavedPct', 'tokensSavedPct', 'goodNudged', 'goodDenied']) {
    assert.equal(typeof first[key], 'number', key);
  }
  assert.ok(first.goodNudged >= first.goodHalted);
  assert.deepEqual(detectors.map(({ name }: { name: string }) => name).slice(0, 4), [
    'default',
    'cautious',
    'strict',
    'seed B, empty texts count',
  ]);
  const table = run('--by', 'source');
  assert.match(table, /### agentdojo: 9 good, 8 bad/);
  assert.match(table, /\| OpenHands-like, headless +\|/);
});

test('a missing or malformed file or a wrong option gives a one-sentence error and exit status 2', () => {
  const folder = mkdtempSync(join(tmpdir(), 'runs-'));
  try {
    const broken = join(folder, 'broken.jsonl');
    writeFileSync(broken, '{"events":[]}\nnot json\n');
    const notZipped = join(folder, 'plain.jsonl.gz');
    writeFileSync(notZipped, 'plain');
    const rows: [string[], RegExp][] = [
      [[join(folder, 'absent.jsonl')], /^there is no file .*absent\.jsonl\n$/],
      [[broken], /^.*broken\.jsonl, line 2 is not JSON\n$/],
      [[notZipped], /^incorrect header check\n$/],
      [[file, '--by', 'colour'], /^--by must be kind, source or model, got "colour"\n$/],
      [[], /^usage: npm run bench:detectors/],
    ];
    for (const [args, message] of rows) {
      const { status, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
      assert.deepEqual([status, message.test(stderr)], [2, true], stderr);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
