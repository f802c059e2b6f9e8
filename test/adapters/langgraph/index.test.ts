/** Graphs written by hand: a model, tools, and a supervisor with its workers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createSwitchgear, type PolicyInput } from 'switchgear';
import { protect, type SupervisorOptions, supervisor } from 'switchgear/adapters/langgraph';
import { adapterSuite, type HostScene, type HostTranscript, simulatedClock } from 'switchgear/testing';
import { countInterrupts, createScriptedModel, makeConfig, makeTools, makeTranscript } from '../langchain/scene.ts';

async function play(scene: HostScene): Promise<HostTranscript> {
  const guard = <T extends object>(thing: T) =>
    scene.gear === undefined ? thing : protect(thing, { gear: scene.gear });
  const model = createScriptedModel(scene);
  const tools = guard(makeTools(scene));
  const asking = guard(model).bindTools(tools);
  const isStreamed = scene.turns[0]?.chunks !== undefined;
  const graph = guard(
    new StateGraph(MessagesAnnotation)
      .addNode('model', async ({ messages }) => ({
        messages: [await (isStreamed ? readLast(await asking.stream(messages)) : asking.invoke(messages))],
      }))
      .addNode('tools', new ToolNode(tools))
      .addEdge(START, 'model')
      .addConditionalEdges('model', ({ messages }) => {
        const last = messages.at(-1);
        return last instanceof AIMessage && last.tool_calls?.length ? 'tools' : END;
      })
      .addEdge('tools', 'model')
      .compile({ checkpointer: new MemorySaver() }),
  );
  const config = makeConfig(scene);
  let approvalsAsked = 0;
  let state = await graph.invoke({ messages: [new HumanMessage('Go on.')] }, config);
  for (let pending = countInterrupts(state); pending > 0; pending = countInterrupts(state)) {
    approvalsAsked += pending;
    state = await graph.invoke(new Command({ resume: scene.answers === 'approve' ? 'yes' : 'no' }), config);
  }
  return makeTranscript(model, state.messages, approvalsAsked);
}

/** The last chunk of a stream as a message. */
async function readLast(stream: AsyncIterable<BaseMessage>): Promise<AIMessage> {
  let last: BaseMessage | undefined;
  for await (const chunk of stream) last = chunk;
  return new AIMessage({ content: last?.text ?? '', response_metadata: last?.response_metadata ?? {} });
}

const delegates = 'a graph delegates by its edges: see the helper supervisor';
adapterSuite({ name: 'LangGraph', run: play, lacks: { delegates } });

/** A supervisor and two workers: what each says, turn by turn, and what the graph remembers. */
async function supervised(
  chef: readonly string[],
  { policy = {}, ...options }: { policy?: PolicyInput } & Partial<SupervisorOptions> = {},
) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy });
  const guard = supervisor({ gear, workers: ['chef_team', 'chart_team'], ...options });
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    delegation_failures: Annotation(guard.failures),
    delegation_notes: Annotation(guard.notes),
  });
  const sent: string[] = [];
  let wants = 0;
  const worker = (name: string, lines: readonly string[]) => async () => {
    sent.push(name);
    const content = lines[Math.min(sent.length, lines.length) - 1] ?? '';
    return new Command({ goto: 'supervisor', update: { messages: [new AIMessage({ content, name })] } });
  };
  const graph = new StateGraph(State)
    .addNode(
      'supervisor',
      async (state) => {
        const isDone = /^Here/.test(state.messages.at(-1)?.text ?? '');
        const step = await guard.next(state, () => (isDone || ++wants > 20 ? undefined : 'chef_team'));
        const messages = step.message === undefined ? [] : [new AIMessage(step.message)];
        return new Command({ goto: step.worker ?? END, update: { ...step.update, messages } });
      },
      { ends: ['chef_team', 'chart_team', END] },
    )
    .addNode('chef_team', worker('chef_team', chef), { ends: ['supervisor'] })
    .addNode('chart_team', worker('chart_team', ['', '', 'Here is the chart.']), { ends: ['supervisor'] })
    .addEdge(START, 'supervisor')
    .compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: 'one' }, recursionLimit: 100 };
  return {
    graph,
    config,
    sent,
    clock,
    guard,
    begin: () => graph.invoke({ messages: [new HumanMessage('A chart!')] }, config),
  };
}

const cannot = ['I cannot draw charts.'];

test('a worker that reports two failures is not called again, and a person is informed', async () => {
  const lines: string[] = [];
  const { begin, sent } = await supervised(cannot, { log: (line) => lines.push(line) });
  const state = await begin();
  assert.deepEqual(sent, ['chef_team', 'chef_team']);
  assert.deepEqual(state.delegation_failures, { chef_team: 2 });
  assert.match(state.messages.at(-1)?.text ?? '', /Safety limit reached: chef_team has failed 2\+ times/);
  assert.match(lines.join('\n'), /attempt #1, limit: 2[\s\S]*attempt #2[\s\S]*Stopping delegation/);
});

test('a success after one failure ends the work, and the failure count stays at one', async () => {
  const { begin } = await supervised(['I cannot do that.', 'Here you are.']);
  const state = await begin();
  assert.deepEqual(state.delegation_failures, { chef_team: 1 });
  assert.equal(state.messages.at(-1)?.text, 'Here you are.');
});

test('reports of finished work that mention what cannot be done are not failures', async () => {
  const reports = [
    'The old parser cannot read quotes. I rewrote it.',
    'Fixed for users who were unable to log in.',
    'Here.',
  ];
  const state = await (await supervised(reports)).begin();
  assert.deepEqual(state.delegation_failures, {});
  const literal = await supervised(reports, { policy: { delegation: { phrase_match: 'anywhere' } } });
  assert.deepEqual((await literal.begin()).delegation_failures, { chef_team: 2 });
});

test('the failure limit of a single worker applies in the graph', async () => {
  const { begin, sent } = await supervised(cannot, { policy: { delegation: { worker_limits: { chef_team: 4 } } } });
  await begin();
  assert.equal(sent.length, 4);
});

test('a worker at its failure limit is replaced by its configured alternative', async () => {
  const policy = { delegation: { alternatives: { chef_team: 'chart_team' } } };
  const { begin, sent } = await supervised(cannot, { policy });
  const state = await begin();
  assert.deepEqual(sent, ['chef_team', 'chef_team', 'chart_team']);
  assert.equal(state.messages.at(-1)?.text, 'Here is the chart.');
});

test('failures older than reset_after_secs are not counted', async () => {
  const { guard, clock } = await supervised(cannot, { policy: { delegation: { reset_after_secs: 60 } } });
  const first = guard.recordDelegationFailure({}, 'chef_team', 'Connection timeout');
  const once = { ...first, delegation_failures: guard.failures.reducer({}, first.delegation_failures ?? {}) };
  clock.advance(61_000);
  const second = guard.recordDelegationFailure(once, 'chef_team', 'Connection timeout');
  assert.deepEqual(guard.failures.reducer(once.delegation_failures, second.delegation_failures ?? {}), {
    chef_team: 1,
  });
});

test('a failed worker is called again after 2 seconds, then after 4 seconds', async () => {
  const policy = { delegation: { backoff: true, max_failures: 3 } };
  const { guard, clock } = await supervised(cannot, { policy });
  for (const [failures, secs] of [
    [1, 2],
    [2, 4],
  ] as const) {
    let sent = false;
    const going = guard
      .next({ delegation_failures: { chef_team: failures } }, () => 'chef_team')
      .then(() => {
        sent = true;
      });
    await clock.elapse(1000 * secs - 1);
    assert.equal(sent, false);
    await clock.elapse(1);
    await going;
  }
});

test('a person asked by an interrupt can retry the worker, and no failure is counted twice', async () => {
  const { begin, graph, config, sent } = await supervised(cannot, { ask: (question) => interrupt(question) });
  const paused = await begin();
  assert.match(String(Reflect.get(paused, '__interrupt__')?.[0]?.value), /chef_team has failed 2\+ times/);
  assert.deepEqual(sent, ['chef_team', 'chef_team']);
  await graph.invoke(new Command({ resume: 'yes' }), config);
  assert.equal(sent.length, 3);
  const state = await graph.invoke(new Command({ resume: 'no' }), config);
  assert.equal(sent.length, 3);
  assert.deepEqual(state.delegation_failures, { chef_team: 3 });
});

test('failures of parallel branches are both counted', async () => {
  const guard = supervisor({ workers: ['chef_team'] });
  const State = Annotation.Root({
    delegation_failures: Annotation(guard.failures),
    delegation_notes: Annotation(guard.notes),
  });
  const fails = (state: typeof State.State) => guard.recordDelegationFailure(state, 'chef_team', 'Connection timeout');
  const graph = new StateGraph(State)
    .addNode('left', fails)
    .addNode('right', fails)
    .addEdge(START, 'left')
    .addEdge(START, 'right')
    .compile();
  const state = await graph.invoke({});
  assert.deepEqual(state.delegation_failures, { chef_team: 2 });
  assert.deepEqual(guard.checkCircuitBreaker(state, 'chef_team'), [
    false,
    'CIRCUIT BREAKER: chef_team has failed 2 times (limit: 2)',
  ]);
});

test('the prompt of a supervisor names the limit that is in force', () => {
  const gear = createSwitchgear({ log: 'silent', env: {}, policy: { delegation: { max_failures: 3 } } });
  assert.match(supervisor({ gear, workers: [] }).prompt, /Maximum of 3 failed delegations per worker/);
});

test('a streamed run is one task, which ends with the stream', async () => {
  const gear = createSwitchgear({ log: 'silent', env: {} });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('answer', () => ({ messages: [new AIMessage(gear.currentTask()?.session ?? 'no task')] }))
    .addEdge(START, 'answer')
    .compile();
  const chunks: unknown[] = [];
  const config = { configurable: { thread_id: 'talk-7' }, streamMode: 'values' as const };
  for await (const chunk of await protect(graph, { gear }).stream({ messages: [] }, config)) chunks.push(chunk);
  const { messages } = chunks.at(-1) as typeof MessagesAnnotation.State;
  assert.equal(messages.at(-1)?.text, 'talk-7');
  assert.equal(gear.snapshot().tasks.length, 0);
});
