/** Plays a story to the gateway: a history that grows by one turn with each request, without the HTTP around it. */

import { makeSessionLimits } from '../../src/cli/policy/session-limits.ts';
import { type Conversations, createConversations } from '../../src/gateway/conversations/conversations.ts';
import { createGatewayTasks, type GatewayTasks } from '../../src/gateway/gateway-tasks.ts';
import { anthropic } from '../../src/gateway/shapes/anthropic.ts';
import { identifyTask, placeIdentity } from '../../src/gateway/task-identity.ts';
import { policyEngine } from '../../src/guard/create-switchgear.ts';
import { type RelayedCall, relayCall } from '../../src/guard/entries/relayed-call.ts';
import { assembleSwitchgear, type Runtime, runtimeOf, type TaskState } from '../../src/guard/internal.ts';
import { checkPolicy } from '../../src/policy/check/check-policy.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { promisesSettled } from '../../src/testing/simulated-clock.ts';
import { driveStory, type PlayedCall, type Surface } from './drive.ts';
import { makeAgentInput } from './play-run.ts';
import { decliningApprover, type Player, Recorder } from './played.ts';

const model = 'claude-opus-5-5';
const target = { name: model, model, kind: 'model', isOpaque: true, breakerName: model } as const;

export const playGateway: Player = async (story, options) => {
  const clock = simulatedClock();
  const record = new Recorder();
  const policy = checkPolicy({ preset: options.preset ?? 'coding' });
  const place = { agent: 'gateway-client', project: 'daily', env: {}, log: 'silent' } as const;
  const gear = assembleSwitchgear(
    { ...place, clock, policy, approver: decliningApprover },
    { policyEngine, haltActions: ['replan', 'dismiss'], layer: 'gateway' },
  );
  record.watchCards(gear);
  const runtime = runtimeOf(gear);
  const tasks = createGatewayTasks(runtime, { limits: makeSessionLimits(policy) }, undefined);
  const surface = new Requests(record, runtime, tasks);
  await driveStory(story, options, { clock, record, surface });
  gear.dispose();
  return record.played;
};

/** One conversation of the client, as it repeats it with each request. */
interface Conversation {
  readonly agent: string | undefined;
  readonly messages: object[];
  /** The turn that was answered last. */
  turn: number;
  hints: number;
  /** The model call whose answer passes. */
  running: RelayedCall | undefined;
  /** Tells the gateway that the answer has ended. */
  answered?: (() => void) | undefined;
}

class Requests implements Surface {
  readonly #record: Recorder;
  readonly #runtime: Runtime;
  readonly #tasks: GatewayTasks;
  readonly #conversations: Conversations;
  readonly #known = new Map<string | undefined, Conversation>();
  readonly #results = new Map<string, object>();
  #latestTurn = 0;

  constructor(record: Recorder, runtime: Runtime, tasks: GatewayTasks) {
    this.#record = record;
    this.#runtime = runtime;
    this.#tasks = tasks;
    this.#conversations = createConversations(runtime, tasks);
  }

  #open(agent: string | undefined): Conversation {
    const conversation = this.#known.get(agent) ?? { agent, messages: [], turn: 0, hints: 0, running: undefined };
    this.#known.set(agent, conversation);
    return conversation;
  }

  prompt(text: string): void {
    this.#open(undefined).messages.push({ role: 'user', content: text });
  }

  /** The client asks the model: its history is looked at, then the call is judged. */
  async request(agent: string | undefined): Promise<void> {
    const record = this.#record;
    const conversation = this.#open(agent);
    const body = {
      model,
      max_tokens: 32_000,
      stream: true,
      tools: [{ name: 'Bash' }],
      messages: conversation.messages,
    };
    const headers = {
      ...{ 'user-agent': 'claude-cli/2.1.325', 'x-claude-code-session-id': 'daily' },
      ...(agent !== undefined && { 'x-claude-code-agent-id': agent }),
    };
    const identity = placeIdentity(identifyTask(undefined, headers, body), headers, undefined);
    const task = await this.#tasks.find(identity);
    const found = await this.#conversations.find(identity.id, task, anthropic.readHistory(body));
    if (found !== undefined) this.#tasks.endConversation?.(task, found.task);
    // What a request brings to light belongs to the turn before it.
    record.turn = conversation.turn;
    conversation.answered = found?.answered;
    const hints = found?.hints ?? [];
    if (hints.length > conversation.hints) record.hint(hints.at(-1)!.text);
    conversation.hints = hints.length;
    await this.#callModel(conversation, found?.task.haltStop === undefined ? task : found.task);
  }

  async #callModel(conversation: Conversation, task: TaskState): Promise<void> {
    let isJudged = false;
    relayCall(this.#runtime, {
      ...{ target, task, args: [], maxCost: { usd: 0, tokens: 0 } },
      begin(call) {
        isJudged = true;
        conversation.running = call;
      },
      refuse: ({ kind, message, code }) => {
        isJudged = true;
        conversation.running = undefined;
        if (kind === 'halt' || task.haltStop !== undefined) this.#record.halt(message, code);
        else this.#record.refuse(message, code);
      },
      giveUp: () => {
        conversation.running = undefined;
      },
    });
    if (!isJudged) await promisesSettled();
  }

  /** The one place that learns that the model has answered. */
  #answerEnded(conversation: Conversation): void {
    conversation.running?.settleMetered({ value: undefined }, { model, inputTokens: 0, outputTokens: 0 });
    conversation.running = undefined;
    conversation.answered?.();
    conversation.answered = undefined;
  }

  #say(agent: string | undefined, content: readonly object[]): Conversation {
    const conversation = this.#open(agent);
    this.#answerEnded(conversation);
    conversation.messages.push({ role: 'assistant', content });
    return conversation;
  }

  answer({ agent, number, say, calls }: Parameters<Surface['answer']>[0]): readonly PlayedCall[] {
    const texts = say === undefined ? [] : [{ type: 'text', text: say }];
    const uses = calls.map(({ id, tool: name, input }) => ({ type: 'tool_use', id, name, input }));
    this.#say(agent, [...texts, ...uses]).turn = number;
    this.#latestTurn = number;
    return calls;
  }

  callEnded({ id, output, ok }: PlayedCall): void {
    this.#results.set(id, makeResult(id, output, ok));
  }

  turnEnded({ agent, calls }: Parameters<NonNullable<Surface['turnEnded']>>[0]): void {
    this.#open(agent).messages.push({ role: 'user', content: calls.map(({ id }) => this.#results.get(id)!) });
    for (const { id } of calls) this.#results.delete(id);
  }

  start(agents: Parameters<Surface['start']>[0]): typeof agents {
    const uses = agents.map(({ id, task, type }) => {
      const input = makeAgentInput(task, type);
      return { type: 'tool_use', id, name: 'Agent', input };
    });
    this.#say(undefined, uses).turn = this.#latestTurn;
    for (const { agent, task } of agents) this.#open(agent).messages.push({ role: 'user', content: task });
    return agents;
  }

  end({ id, agent, output, ok }: Parameters<Surface['end']>[0]): void {
    this.#known.delete(agent);
    const main = this.#open(undefined);
    main.turn = this.#latestTurn;
    const { messages } = main;
    const result = makeResult(id, output, ok);
    const { role, content } = messages.at(-1) as { readonly role: string; readonly content: object[] | string };
    // The results of one answer are in one message.
    if (role === 'user' && typeof content !== 'string') content.push(result);
    else messages.push({ role: 'user', content: [result] });
  }

  /** An agent whose last answer has calls sends their results. */
  async rest(): Promise<void> {
    const last = this.#open(undefined).messages.at(-1) as { readonly role: string; readonly content: unknown };
    if (last.role !== 'user' || typeof last.content === 'string') return;
    await this.request(undefined);
    this.#answerEnded(this.#open(undefined));
  }
}

function makeResult(id: string, content: string, ok: boolean): object {
  return { type: 'tool_result', tool_use_id: id, content, ...(!ok && { is_error: true }) };
}
