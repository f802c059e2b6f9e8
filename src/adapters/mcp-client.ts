/** The adapter of MCP clients 1.x and 2.x: guards tool calls. A refused call returns an `isError` result. */

import type { Refusal } from '../core/refusal.ts';
import type { Switchgear, Task } from '../guard/api.ts';
import { defaultSwitchgear } from '../guard/create-switchgear.ts';
import { hostCall } from '../guard/entries/host-call.ts';
import { hasMethod, unknownThing } from './host/check-thing.ts';
import { guardOnce, reportGuarded } from './host/guard-once.ts';
import { type FallbackOptions, fallbackOf, fallbackText, makeHaltFacts, refusalText } from './host/host-run.ts';
import { overrideMethods } from './host/override-methods.ts';

/** The subset of a client that is used. */
export interface McpClientLike {
  callTool(...args: never[]): PromiseLike<unknown>;
  /** The name and version of the connected server. */
  getServerVersion?(): { readonly name: string } | undefined;
}

/** Options of `protect` for MCP clients. */
export interface McpClientOptions extends FallbackOptions {
  /**
   * The gear to use.
   * @default defaultSwitchgear()
   */
  readonly gear?: Switchgear;
  /**
   * The task of the calls.
   * @default the task around the call
   */
  readonly task?: Task;
  /**
   * The prefix of each tool name, as in `weather.forecast`; empty for none.
   * @default the server's own name
   */
  readonly server?: string;
}

type CallTool = (...args: unknown[]) => PromiseLike<unknown>;

interface RequestOptions {
  readonly signal?: AbortSignal;
}

/**
 * Returns the client with guarded tool calls; all other methods are unchanged.
 * @example
 * import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
 * import { protect } from 'switchgear/adapters/mcp-client';
 *
 * const client = protect(new Client({ name: 'sailor', version: '1.0.0' }), { server: 'weather' });
 * await client.connect(new StreamableHTTPClientTransport(new URL('https://example.com/mcp')));
 * const { isError } = await client.callTool({ name: 'forecast' });
 */
export function protect<C extends McpClientLike>(client: C, options: McpClientOptions = {}): C {
  const { gear = defaultSwitchgear(), task, server } = options;
  if (!hasMethod(client, 'callTool')) throw unknownThing('an MCP client', client, 'it has no method callTool');
  const call = client.callTool as CallTool;

  async function callTool(...args: unknown[]): Promise<unknown> {
    const { name, arguments: input = {} } = (args[0] ?? {}) as {
      readonly name?: unknown;
      readonly arguments?: unknown;
    };
    const prefix = server ?? client.getServerVersion?.()?.name ?? '';
    const optionsIndex = findOptionsIndex(args, call.length);
    const requestOptions = (args[optionsIndex] ?? {}) as RequestOptions;
    const toolName = prefix === '' ? String(name) : `${prefix}.${name}`;
    const fallback = fallbackOf(options, toolName) ?? fallbackOf(options, String(name));
    const answer = await hostCall(
      gear,
      toolName,
      [input],
      (running, [ownInput]) => {
        const { signal } = requestOptions;
        const eitherSignal = signal === undefined ? running.signal : AbortSignal.any([signal, running.signal]);
        const params = ownInput === input ? args : replaceAt(args, 0, { ...(args[0] as object), arguments: ownInput });
        return call.apply(client, replaceAt(params, optionsIndex, { ...requestOptions, signal: eitherSignal }));
      },
      // All agents share the breaker of a server's tool.
      {
        task,
        signal: requestOptions.signal,
        breaker: { scope: 'shared' },
        canEdit: true,
        fallback: fallback && (async (...failed) => makeFallbackResult(await fallback(...failed))),
      },
    );
    return 'value' in answer ? answer.value : makeRefusedResult(answer.refusal);
  }

  reportGuarded(gear, 'mcp-client', ['every tool call']);
  return guardOnce(client, gear, () => overrideMethods(client, { callTool }));
}

/** The position of the request options: second in 2.x, third in 1.x, after the schema of the result. */
function findOptionsIndex(args: readonly unknown[], declaredParameters: number): number {
  const isOptions = (value: unknown) =>
    typeof value === 'object' && value !== null && /^(signal|timeout|onprogress)$/m.test(Object.keys(value).join('\n'));
  const found = args.findIndex((value, index) => index > 0 && isOptions(value));
  if (found > 0) return found;
  // Version 1.x has a default for its second parameter, and `length` counts the parameters before a default.
  return declaredParameters > 1 ? 1 : 2;
}

function replaceAt(args: readonly unknown[], position: number, value: unknown): unknown[] {
  const all = Array.from({ length: Math.max(args.length, position + 1) }, (_, index) => args[index]);
  all[position] = value;
  return all;
}

/** What a fallback returned as a tool result, unless it is one. */
function makeFallbackResult(value: unknown): unknown {
  const isResult = Array.isArray((value as { readonly content?: unknown } | null | undefined)?.content);
  return isResult ? value : { content: [{ type: 'text', text: fallbackText(value) }] };
}

/** A refusal as a tool result: text for the model, and data for code in `_meta`. */
function makeRefusedResult(refusal: Refusal) {
  const facts = { ...makeHaltFacts(refusal), kind: refusal.kind };
  return { isError: true, content: [{ type: 'text', text: refusalText(refusal) }], _meta: { switchgear: facts } };
}
