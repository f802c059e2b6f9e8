/**
 * Judges the calls of one client session on the route: names them, finds their breakers, and classifies their endings.
 */

import type { Ending } from '../core/classify.ts';
import { isMatch } from '../core/glob.ts';
import type { Refusal } from '../core/refusal.ts';
import type { Stop } from '../core/verdict.ts';
import { createHookedCallTaker, type HookedCall, type HookedHost } from '../guard/entries/hooked-calls.ts';
import { type RelayedCall, type RelayRequest, relayCall } from '../guard/entries/relayed-call.ts';
import { type UpstreamBreaker, upstreamBreaker } from '../guard/entries/upstream-breaker.ts';
import type { Runtime, Target, TaskState } from '../guard/internal.ts';
import type { Clock } from '../ports/clock.ts';
import { createListedTools, type ListedTools } from './listed-tools.ts';
import { type RpcMessage, readObject } from './message.ts';
import { nameServer, nameTool } from './names.ts';
import type { CallRequest } from './pending-requests.ts';
import { makeRefusedResult, type ResultShape } from './refused-result.ts';
import { ServerHealth, type WatchedSession } from './server-health.ts';
import type { ToolPins } from './tool-pins.ts';

/** A call of a client, with what becomes of it. */
export interface ClientCall extends Pick<RelayRequest, 'begin' | 'refuse' | 'giveUp'> {
  readonly call: CallRequest;
}

/** The judge of a session. */
export interface Judge {
  readonly clock: Clock;
  readonly upstream: UpstreamBreaker;
  /** The tools that the client sees. */
  readonly tools: ListedTools;
  /** Watches the server of a session. */
  watch(session: WatchedSession): ServerHealth;
  /** How long the breaker of the server refuses calls. */
  refusedForMs(): number;
  /** Judges a call and begins or refuses it, in this tick unless it has to wait. */
  judge(call: ClientCall): void;
  /** The tool result of a refused call. */
  formatRefusal(refusal: Refusal, shape: ResultShape): object;
}

/**
 * @param findTask Returns the task of the session, started at its first call.
 * @param listHosts Returns the processes of which one may be an agent with hooks.
 * @param pins The tools as they were first seen.
 */
export function createJudge(
  runtime: Runtime,
  server: string,
  findTask: () => TaskState,
  listHosts: () => readonly HookedHost[] = () => [],
  pins?: ToolPins,
): Judge {
  const takeHooked = createHookedCallTaker(runtime, listHosts);
  const upstream = upstreamBreaker(runtime, nameServer(server));
  const targets = new Map<string, Target>();

  const targetOf = (tool: string): Target => {
    const known = targets.get(tool);
    if (known !== undefined) return known;
    if (targets.size >= targetsMax) targets.clear();
    const target = makeTarget(runtime, server, tool);
    targets.set(tool, target);
    return target;
  };

  const tools = createListedTools(runtime, server, targetOf, pins);

  /** Looks into the store once for all calls of one piece of input, which are read in one tick. */
  let isFresh = false;
  const refresh = () => {
    if (isFresh) return;
    isFresh = true;
    queueMicrotask(() => {
      isFresh = false;
    });
    runtime.store.shared?.refresh();
  };

  return {
    clock: runtime.clock,
    upstream,
    tools,
    watch: (session) => new ServerHealth(runtime.clock, upstream, session),
    refusedForMs() {
      const stop = upstream.judge();
      if (stop === undefined) return 0;
      return stop.retryAtMs === undefined ? Number.POSITIVE_INFINITY : stop.retryAtMs - runtime.clock.nowMs();
    },
    judge(clientCall) {
      const { tool, hostId: id, isContinued } = clientCall.call;
      const target = targetOf(tool);
      const request = new JudgedRequest(clientCall, target, findTask(), upstream, tools.judge(tool));
      if (isContinued) {
        const atMs = runtime.clock.nowMs();
        request.hooked = { id: `${runtime.idStem}-continued`, tool: target.name, fingerprint: 0, atMs };
        return relayCall(runtime, request);
      }
      if (takeHooked === undefined) return relayCall(runtime, request);
      refresh();
      const hooked = takeHooked({ id, tool: target.name, args: request.args });
      if (hooked instanceof Promise) {
        void hooked.then((found) => {
          request.hooked = found;
          relayCall(runtime, request);
        });
        return;
      }
      request.hooked = hooked;
      request.isFresh = true;
      relayCall(runtime, request);
    },
    formatRefusal(refusal, shape) {
      const { agent, clock } = runtime;
      return makeRefusedResult(refusal, { agent, session: findTask().session, nowMs: clock.nowMs() }, shape);
    },
  };
}

/** A call of a client as the route takes it. */
class JudgedRequest implements RelayRequest {
  readonly target: Target;
  readonly task: TaskState;
  readonly args: readonly unknown[];
  readonly upstream: UpstreamBreaker;
  readonly stop: Stop | undefined;
  hooked: HookedCall | undefined = undefined;
  isFresh = false;
  readonly #call: ClientCall;

  constructor(call: ClientCall, target: Target, task: TaskState, upstream: UpstreamBreaker, stop: Stop | undefined) {
    this.target = target;
    this.task = task;
    this.args = [call.call.input];
    this.upstream = upstream;
    this.stop = stop;
    this.#call = call;
  }

  get signal(): AbortSignal {
    return this.#call.call.wait.signal;
  }

  begin(call: RelayedCall): void {
    this.#call.begin(call);
  }

  refuse(refusal: Refusal): void {
    this.#call.refuse(refusal);
  }

  giveUp(error: unknown, halt: Refusal | undefined): void {
    this.#call.giveUp(error, halt);
  }
}

/** Tools of one server that are remembered; a client may make up names. */
const targetsMax = 1_000;

/** All agents share the breaker of a server's tool. The list of tools whose failures are data has plain names. */
function makeTarget({ settings }: Runtime, server: string, tool: string): Target {
  const sameErrorOnly = settings.sameErrorTools.some((pattern) => isMatch(pattern, tool));
  const overrides = { scope: 'shared', ...(sameErrorOnly && { sameErrorOnly }) } as const;
  return { name: nameTool(server, tool), kind: 'tool', overrides };
}

/**
 * Codes of JSON-RPC that say nothing about the tool: an unknown method or tool, arguments that do not fit; a message
 * whose headers, capabilities or version do not fit; a user who must open a page first.
 */
const callerErrors = new Set([-32601, -32602, -32020, -32021, -32022, -32042]);

/** Settles a call by the answer of the server; returns the result for the client. */
export function settleAnswer(call: RelayedCall, answer: RpcMessage): unknown {
  const { result, error } = answer;
  if (error === undefined || error === null) return call.settle({ value: result }, 'answered', classifyResult);
  const { code, message } = readObject(error) ?? {};
  const isCallers = callerErrors.has(Number(code));
  const failure = { name: 'McpError', code, message: String(message) };
  return call.settle({ error: failure }, 'answered', isCallers ? () => 'neutral' : undefined);
}

/** A result that is not the end of a call, such as a question or the start of a task, is neutral. */
function classifyResult(ending: Ending): 'neutral' | undefined {
  const { resultType, task } = ('value' in ending && readObject(ending.value)) || {};
  const isTask = typeof readObject(task)?.taskId === 'string';
  return (resultType === undefined || resultType === 'complete') && !isTask ? undefined : 'neutral';
}

/** Settles a call whose server ended or could not be reached. */
export function settleLost(call: RelayedCall, reason: string, countsForServer: boolean): void {
  const error = { name: 'NetworkError', code: 'ECONNRESET', message: reason };
  call.settle({ error }, countsForServer ? 'failed' : 'unknown', undefined, reason);
}

/** Settles a call that its client gave up because it took too long. */
export function settleTimedOut(call: RelayedCall, reason: string): void {
  call.settle({ error: { name: 'TimeoutError', message: reason } }, 'failed', undefined, reason);
}
