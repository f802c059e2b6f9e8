/** The conversations of a run whose other reader shows its calls of tools: each call counts once. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createConversations } from '../../src/gateway/conversations/conversations.ts';
import { createRunTasks } from '../../src/gateway/run-tasks.ts';
import type { HistoryItem } from '../../src/gateway/shapes/shape.ts';
import { runtimeOf, type TaskState } from '../../src/guard/internal.ts';
import { createSwitchgear } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory.ts';

/** A run whose output shows the calls of the agent, and whose files show those of its subagents later. */
function openRun(context: TestContext) {
  const store = memoryStore();
  const gear = createSwitchgear({ store, env: {}, log: 'silent', project: 'test' });
  context.after(() => gear.dispose());
  const runtime = runtimeOf(gear);
  const { id } = gear.startTask({ id: 'run' });
  const root = () => (runtime.tasks.get(id) ?? runtime.halted.get(id)) as TaskState;
  const tasks = createRunTasks(runtime, {
    ...{ token: 'secret', task: root, ending: () => root().halt },
    ...{ onCall: () => {}, onSign: () => {}, dismissCard: () => {} },
    watching: (isFirst) => (isFirst ? 'none' : 'loops'),
  });
  const conversations = createConversations(runtime, tasks);
  return {
    root,
    types: () => store.tail(0).map(({ type }) => type),
    async ask(history: readonly HistoryItem[]) {
      const found = await conversations.find('run', root(), history);
      if (found !== undefined) tasks.endConversation?.(root(), found.task);
      return found;
    },
  };
}

/** A prompt and some calls with their results; without an output, the same failing call. */
function talk(prompt: string, calls: number, output?: (at: number) => string): readonly HistoryItem[] {
  const turns = Array.from({ length: calls }, (_, at): HistoryItem[] => [
    { type: 'assistant', text: '', calls: [{ id: `${prompt} ${at}`, name: 'read', input: { path: output?.(at) } }] },
    {
      ...{ type: 'result', id: `${prompt} ${at}`, at: 2 * at + 2 },
      ...(output ? { output: output(at), ok: true } : { output: 'no such file', ok: false }),
    },
  ]);
  return [{ type: 'user', text: prompt }, ...turns.flat()];
}

test('the first conversation is that of the agent, also if its subagent has results before it', async (context) => {
  const run = openRun(context);
  assert.equal(await run.ask(talk('the task', 0)), undefined);
  assert.notEqual(await run.ask(talk('an errand', 1)), undefined);
  assert.equal(await run.ask(talk('the task', 9)), undefined, 'its own output shows these calls');
});

test('a loop of a subagent ends the run, and its calls count nowhere else', async (context) => {
  const run = openRun(context);
  await run.ask(talk('the task', 0));
  for (let calls = 1; run.root().halt === undefined && calls < 20; calls++) await run.ask(talk('an errand', calls));
  assert.equal(run.root().halt?.code, 'tool_loop');
  const counted = run.types().filter((type) => /^(action|call|result)-/.test(type));
  assert.deepEqual(counted, []);
});

test('a healthy subagent leaves no trace in the counters of the run', async (context) => {
  const run = openRun(context);
  await run.ask(talk('the task', 0));
  for (let calls = 1; calls < 40; calls++) await run.ask(talk('an errand', calls, (at) => `file ${at * 7919}`));
  assert.equal(run.root().halt, undefined);
  const { calls, treeCalls = 0 } = run.root().cells.budget.state;
  assert.deepEqual({ calls, treeCalls }, { calls: 0, treeCalls: 0 });
});
