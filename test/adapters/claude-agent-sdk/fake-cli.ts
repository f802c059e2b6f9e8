/** Stands in for the Claude Code program: it speaks the SDK's protocol, asks hooks as the real one, follows a scene. */

import { EventEmitter } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { HostScene, HostTurn } from 'switchgear/testing';

interface HookOutput {
  readonly continue?: boolean;
  readonly hookSpecificOutput?: { readonly permissionDecision?: string; readonly permissionDecisionReason?: string };
}

interface ProtocolLine {
  readonly type: string;
  readonly request_id?: string;
  readonly request?: { readonly subtype: string; readonly hooks?: Record<string, { hookCallbackIds: string[] }[]> };
  readonly response?: { readonly request_id: string; readonly response?: unknown; readonly error?: string };
}

/** What was seen of the run from inside. */
export interface ObservedRun {
  modelCalls: number;
  approvalsAsked: number;
  readonly toolResults: string[];
}

/** A process as `spawnClaudeCodeProcess` returns it. */
export function createClaudeCli(scene: HostScene, observed: ObservedRun) {
  const [stdin, stdout, events] = [new PassThrough(), new PassThrough(), new EventEmitter()];
  const waiting = new Map<string, PromiseWithResolvers<unknown>>();
  let hooks: Record<string, { hookCallbackIds: string[] }[]> = {};
  let requests = 0;
  const state = { killed: false, exitCode: null as number | null };

  const send = (line: object) => void stdout.write(`${JSON.stringify({ session_id: 's', uuid: 'u', ...line })}\n`);

  function request(body: object): Promise<unknown> {
    const request_id = `cli-${++requests}`;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(request_id, answer);
    send({ type: 'control_request', request_id, request: body });
    return answer.promise;
  }

  /** All hooks of an event; what the strictest says, a deny before anything else. */
  async function ask(event: string, input: object, tool_use_id?: string): Promise<HookOutput> {
    const ids = (hooks[event] ?? []).flatMap(({ hookCallbackIds }) => hookCallbackIds);
    const base = { session_id: 's', transcript_path: '', cwd: '', hook_event_name: event, ...input };
    const call = (callback_id: string) => request({ subtype: 'hook_callback', callback_id, input: base, tool_use_id });
    const outputs = (await Promise.all(ids.map(call))) as HookOutput[];
    return outputs.find(({ hookSpecificOutput }) => hookSpecificOutput?.permissionDecision) ?? outputs[0] ?? {};
  }

  async function useTool(
    name: string,
    input: Record<string, unknown>,
    id: string,
  ): Promise<{ text: string; goesOn: boolean }> {
    const isWorker = scene.workers?.includes(name) === true;
    const tool_name = isWorker ? 'Agent' : name;
    const tool_input = isWorker ? { subagent_type: name, prompt: JSON.stringify(input) } : input;
    const about = { tool_name, tool_input, tool_use_id: id };
    const { continue: goesOn = true, hookSpecificOutput: said } = await ask('PreToolUse', about, id);
    if (said?.permissionDecision === 'deny') return { text: said.permissionDecisionReason ?? '', goesOn };
    if (said?.permissionDecision === 'ask') {
      const answer = await request({ subtype: 'can_use_tool', tool_name, input: tool_input, tool_use_id: id });
      if ((answer as { behavior: string }).behavior !== 'allow') return { text: 'The user said no.', goesOn };
    }
    try {
      const text = String(await scene.tools[name]?.(input, scene.signal));
      await ask('PostToolUse', { ...about, tool_response: text }, id);
      return { text, goesOn };
    } catch (error) {
      await ask('PostToolUseFailure', { ...about, error: String(error) }, id);
      return { text: String(error), goesOn };
    }
  }

  async function play(): Promise<void> {
    send({
      type: 'system',
      subtype: 'init',
      model: 'claude-sonnet-4',
      tools: [],
      mcp_servers: [],
      permissionMode: 'default',
    });
    await ask('UserPromptSubmit', { prompt: 'Go on.' });
    for (let step = 0; step < scene.stepsMax && !state.killed; step++) {
      const turn: HostTurn = scene.turns[Math.min(step, scene.turns.length - 1)] ?? {};
      const { text, calls = [], tokens = 10 } = turn;
      observed.modelCalls++;
      await turn.wait?.();
      if (turn.chunks !== undefined) await streamForEver(turn.chunks());
      const blocks = [
        ...(text === undefined ? [] : [{ type: 'text', text }]),
        ...calls.map(({ tool, input }, index) => ({
          type: 'tool_use',
          id: `call-${step}-${index}`,
          name: tool,
          input,
        })),
      ];
      // The real one writes a line per block, with the same id and a usage that grows.
      for (const block of blocks) {
        const usage = {
          input_tokens: tokens,
          output_tokens: tokens,
          cache_read_input_tokens: 0,
          cache_creation_input_tokens: 0,
        };
        const message = { id: `msg-${step}`, role: 'assistant', model: 'claude-sonnet-4', content: [block], usage };
        send({ type: 'assistant', message, parent_tool_use_id: null });
      }
      if (calls.length === 0) return finish('completed', text ?? '');
      const results = await Promise.all(
        calls.map(({ tool, input = {} }, index) => useTool(tool, input, `call-${step}-${index}`)),
      );
      const content = results.map((result, index) => {
        observed.toolResults.push(result.text);
        return { type: 'tool_result', tool_use_id: `call-${step}-${index}`, content: result.text };
      });
      send({ type: 'user', message: { role: 'user', content }, parent_tool_use_id: null });
      const batch = await ask('PostToolBatch', { tool_calls: [] });
      if (batch.continue === false || results.some(({ goesOn }) => !goesOn)) return finish('hook_stopped', '');
    }
    finish('max_turns', '');
  }

  async function streamForEver(chunks: AsyncIterable<string>): Promise<void> {
    const message = { id: 'msg-0', model: 'claude-sonnet-4', usage: { input_tokens: 10, output_tokens: 1 } };
    send({ type: 'stream_event', event: { type: 'message_start', message }, parent_tool_use_id: null });
    for await (const text of chunks) {
      if (state.killed) return;
      const event = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
      send({ type: 'stream_event', event, parent_tool_use_id: null });
    }
  }

  function finish(terminal_reason: string, result: string): void {
    const counts = {
      duration_ms: 1,
      duration_api_ms: 1,
      num_turns: observed.modelCalls,
      total_cost_usd: 0,
      usage: {},
      modelUsage: {},
    };
    send({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result,
      terminal_reason,
      permission_denials: [],
      ...counts,
    });
  }

  function exit(code: number): void {
    if (state.exitCode !== null) return;
    state.exitCode = code;
    stdout.end();
    events.emit('exit', code, null);
  }

  createInterface({ input: stdin }).on('line', (text) => {
    const line = JSON.parse(text) as ProtocolLine;
    if (line.type === 'control_response' && line.response) {
      const { request_id, response, error } = line.response;
      if (error === undefined) waiting.get(request_id)?.resolve(response ?? {});
      else waiting.get(request_id)?.reject(new Error(error));
    }
    if (line.type === 'control_request') {
      hooks = line.request?.hooks ?? hooks;
      const lists = {
        commands: [],
        agents: [],
        models: [],
        output_style: '',
        available_output_styles: [],
        account: {},
      };
      const response = { ...lists, hook_on_failure_supported: true, hooks_applied: true };
      send({ type: 'control_response', response: { subtype: 'success', request_id: line.request_id, response } });
    }
    if (line.type === 'user') play().catch((error) => finish('api_error', String(error)));
  });
  stdin.on('end', () => exit(0));

  return Object.assign(state, {
    stdin,
    stdout,
    kill() {
      state.killed = true;
      exit(143);
      return true;
    },
    on: events.on.bind(events),
    once: events.once.bind(events),
    off: events.off.bind(events),
  });
}
