/** A supervisor sends a chart to the kitchen, twice in vain; then the team that is named instead draws it. */

import assert from 'node:assert/strict';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { Annotation, Command, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createSwitchgear } from 'switchgear';
import { supervisor } from 'switchgear/adapters/langgraph';

const gear = createSwitchgear({
  agent: 'Supervisor',
  log: 'silent',
  policy: { delegation: { alternatives: { chef_team: 'chart_team' } } },
});
const guard = supervisor({ gear, workers: ['chef_team', 'chart_team'], log: console.log });

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  delegation_failures: Annotation(guard.failures),
  delegation_notes: Annotation(guard.notes),
});

const says = (name: string, content: string) => () => ({ messages: [new AIMessage({ content, name })] });

const graph = new StateGraph(State)
  .addNode(
    'supervisor',
    async (state) => {
      const isDone = state.messages.at(-1)?.text.startsWith('Here') === true;
      const { worker, update } = await guard.next(state, () => (isDone ? undefined : 'chef_team'));
      return new Command({ goto: worker ?? END, update: { ...update } });
    },
    { ends: ['chef_team', 'chart_team', END] },
  )
  .addNode('chef_team', says('chef_team', 'I cannot draw charts.'))
  .addNode('chart_team', says('chart_team', 'Here is your chart.'))
  .addEdge(START, 'supervisor')
  .addEdge('chef_team', 'supervisor')
  .addEdge('chart_team', 'supervisor')
  .compile();

const { messages, delegation_failures: failures } = await graph.invoke({ messages: [new HumanMessage('A chart!')] });
console.log(messages.map(({ name = 'user', text }) => `${name}: ${text}`).join('\n'));

assert.deepEqual(failures, { chef_team: 2 });
assert.equal(messages.at(-1)?.text, 'Here is your chart.');
