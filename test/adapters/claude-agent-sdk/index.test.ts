/** The Claude Agent SDK, driving a stand-in for its program. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HookEvent, type Options, query } from '@anthropic-ai/claude-agent-sdk';
import { createSwitchgear, type Switchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/claude-agent-sdk';
import { adapterSuite, type HostScene, type HostTranscript, promisesSettled } from 'switchgear/testing';
import { createClaudeCli, type ObservedRun } from './fake-cli.ts';

async function play(scene: HostScene, extraOptions: Partial<Options> = {}): Promise<HostTranscript> {
  const observed: ObservedRun = { modelCalls: 0, approvalsAsked: 0, toolResults: [] };
  const ask = scene.gear === undefined ? query : protect(query, { gear: scene.gear });
  const abortController = new AbortController();
  scene.signal?.addEventListener('abort', () => abortController.abort(), { once: true });
  const running = ask({
    prompt: 'Go on.',
    options: {
      pathToClaudeCodeExecutable: 'claude',
      spawnClaudeCodeProcess: () => createClaudeCli(scene, observed),
      abortController,
      canUseTool: async (_, input) => {
        observed.approvalsAsked++;
        return scene.answers === 'approve'
          ? { behavior: 'allow', updatedInput: input }
          : { behavior: 'deny', message: 'The user said no.' };
      },
      ...extraOptions,
    },
  });
  const messages: unknown[] = [];
  for await (const message of running) messages.push(message);
  const result = messages.at(-1) as { result?: string; switchgear?: { code: HostTranscript['halt']; message: string } };
  return {
    modelCalls: observed.modelCalls,
    toolResults: observed.toolResults,
    answer: result.switchgear?.message ?? result.result ?? '',
    halt: result.switchgear?.code,
    approvalsAsked: observed.approvalsAsked,
    messages,
  };
}

const lacks = {
  raises: 'the SDK asks about a call and reports only that it ran: the approver of the gear is asked',
  nests: 'a subagent runs in the process of Claude Code, outside the task of its worker',
  errors: 'errors of tools arrive as texts',
  timeouts: 'Claude Code runs its tools itself: a hung tool ends with its run',
};
adapterSuite({ name: 'the Claude Agent SDK', run: play, lacks });

const scene = { turns: [{ calls: [{ tool: 'read' }] }, { text: 'Done.' }], tools: { read: () => 'page' }, stepsMax: 5 };

test('user-defined hooks run in addition to the hooks of Switchgear', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const observed: unknown[] = [];
  const hooks: Options['hooks'] = {
    PreToolUse: [
      {
        hooks: [
          async (input) => {
            observed.push(Reflect.get(input, 'tool_name'));
            return {};
          },
        ],
      },
    ],
  };
  const { answer } = await play({ ...scene, gear }, { hooks });
  assert.equal(answer, 'Done.');
  assert.deepEqual(observed, ['read']);
});

test('the usage of a message with several lines is counted once', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const task = gear.startTask();
  await task.run(() =>
    play({ ...scene, turns: [{ text: 'One.', calls: [{ tool: 'read' }] }, { text: 'Done.' }], gear }),
  );
  assert.equal(task.snapshot().tokens, 40);
  assert.equal(task.snapshot().toolCalls, 1);
});

test('the hooks of Switchgear block the call if a hook fails', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  let given: Options['hooks'];
  const spy = protect(
    (params: { prompt: string; options?: Options }) => {
      given = params.options?.hooks;
      return (async function* () {})();
    },
    { gear },
  );
  for await (const _ of spy({ prompt: 'Go on.' }));
  assert.deepEqual(
    Object.values(given ?? {}).flatMap((matchers) => matchers.map(({ onFailure }) => onFailure)),
    Array.from({ length: 7 }, () => 'block'),
  );
  assert.equal(gear.snapshot().tasks.length, 0);
});

/** The hooks of a guarded query, called one by one as the program would. */
function hooksOf(gear: Switchgear) {
  let given: Options['hooks'];
  const spy = protect(
    (params: { prompt: string; options?: Options }) => {
      given = params.options?.hooks;
      return (async function* () {})();
    },
    { gear, task: gear.startTask() },
  );
  spy({ prompt: 'Go on.' });
  return async (event: HookEvent, input: object, id?: string): Promise<unknown> => {
    const hook = given?.[event]?.[0]?.hooks[0];
    return hook?.({ hook_event_name: event, ...input } as never, id, { signal: new AbortController().signal });
  };
}

test('a subagent has its own task for its calls, and its delegation is counted once when it stops', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const call = hooksOf(gear);
  const about = { tool_name: 'Agent', tool_input: { subagent_type: 'researcher', prompt: 'Find it.' } };
  await call('PreToolUse', about, 'a');
  await call('SubagentStart', { agent_id: 'x', agent_type: 'researcher' });
  await call('PreToolUse', { tool_name: 'Read', tool_input: {}, agent_id: 'x' }, 'b');
  await call('PostToolUse', { tool_name: 'Read', tool_input: {}, agent_id: 'x', tool_response: 'page' }, 'b');
  const [root, child] = gear.snapshot().tasks;
  assert.deepEqual([root?.toolCalls, child?.agent, child?.toolCalls], [1, 'researcher', 1]);
  await call('SubagentStop', { agent_id: 'x', last_assistant_message: 'I cannot find it.' });
  await call('PostToolUse', { ...about, tool_response: 'I cannot find it.' }, 'a');
  await promisesSettled();
  assert.deepEqual(
    gear.snapshot().tasks.map(({ toolCalls }) => toolCalls),
    [1],
  );
  assert.deepEqual(Object.values(gear.snapshot().delegations).flatMap(Object.values), []);
});

test('the delegation to a background subagent stays open until the subagent stops', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const call = hooksOf(gear);
  const about = { tool_name: 'Agent', tool_input: { subagent_type: 'researcher', prompt: 'Find it.' } };
  await call('PreToolUse', about, 'a');
  await call('SubagentStart', { agent_id: 'x', agent_type: 'researcher' });
  await call('PostToolUse', { ...about, tool_response: { status: 'async_launched' } }, 'a');
  await promisesSettled();
  assert.equal(gear.snapshot().tasks.length, 2);
  await call('SubagentStop', { agent_id: 'x', last_assistant_message: 'Found.' });
  await promisesSettled();
  assert.equal(gear.snapshot().tasks.length, 1);
});
