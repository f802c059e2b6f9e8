/** Runs scenes of the adapter suite through the AI SDK, with its own mock model. */

import type { Switchgear } from 'switchgear';
import { protect } from 'switchgear/adapters/ai-sdk';
import type { HostHarness, HostScene, HostTranscript, HostTurn } from 'switchgear/testing';

/** What both versions of the SDK have in common, as far as scenes need it. */
export interface Sdk {
  readonly specification: 'v3' | 'v4';
  makeModel(answer: (params: ModelParams) => Promise<ScriptedAnswer>): object;
  makeTool(name: string, execute: (input: unknown, options: { abortSignal?: AbortSignal }) => unknown): object;
  generate(call: Record<string, unknown>): Promise<SdkResult>;
  steps(max: number): unknown;
}

export interface SdkResult {
  readonly text: string;
  readonly content: readonly unknown[];
  readonly providerMetadata?: unknown;
  readonly response: { readonly messages: readonly unknown[] };
}

/** An answer of the model, with the parts of a text without end. */
export type ScriptedAnswer = ReturnType<typeof makeAnswer> & { readonly chunks?: HostTurn['chunks'] };

export interface ModelParams {
  readonly abortSignal?: AbortSignal;
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
}

type Part = Readonly<Record<string, unknown>>;

/** A harness for one version, with or without streaming. */
export function aiSdkHarness(name: string, sdk: Sdk, mode: 'generate' | 'stream'): HostHarness {
  const lacks =
    mode === 'stream'
      ? { throws: 'streamText hands an error on as a part of its stream' }
      : { streams: 'generateText waits for the whole answer' };
  return { name: `${name}, ${mode}`, lacks, run: (scene) => play(sdk, mode, scene) };
}

async function play(sdk: Sdk, mode: 'generate' | 'stream', scene: HostScene): Promise<HostTranscript> {
  let modelCalls = 0;
  const toolResults = new Map<string, string>();
  const model = sdk.makeModel(async ({ prompt, abortSignal }) => {
    collectToolResults(prompt, toolResults);
    const turn = scene.turns[Math.min(modelCalls, scene.turns.length - 1)] ?? {};
    const answer = makeAnswer(turn, ++modelCalls);
    await turn.wait?.(abortSignal);
    return { ...answer, ...(turn.chunks && { chunks: turn.chunks }) };
  });
  const tools = Object.fromEntries(
    Object.entries(scene.tools).map(([tool, run]) => [
      tool,
      sdk.makeTool(tool, (input, options) => run(input as Record<string, unknown>, options.abortSignal)),
    ]),
  );
  const call = protectCall({ model, tools }, scene.gear, scene.workers);
  const settings = { stopWhen: sdk.steps(scene.stepsMax), abortSignal: scene.signal, maxRetries: 0, mode };
  const messages: unknown[] = [{ role: 'user', content: 'Go on.' }];
  let approvalsAsked = 0;
  let result: SdkResult;
  for (;;) {
    result = await sdk.generate({ ...call, ...settings, messages: [...messages] });
    messages.push(...result.response.messages);
    const requests = (result.content as readonly Part[]).filter(({ type }) => type === 'tool-approval-request');
    if (requests.length === 0) break;
    approvalsAsked += requests.length;
    const approved = scene.answers === 'approve';
    const content = requests.map(({ approvalId }) => ({ type: 'tool-approval-response', approvalId, approved }));
    messages.push({ role: 'tool', content });
  }
  collectToolResults(messages as ModelParams['prompt'], toolResults);
  const facts = (result.providerMetadata as { switchgear?: { code: HostTranscript['halt'] } } | undefined)?.switchgear;
  return {
    modelCalls,
    toolResults: [...toolResults.values()],
    answer: result.text,
    halt: facts?.code,
    approvalsAsked,
    messages: JSON.parse(JSON.stringify(messages)),
  };
}

function protectCall(
  call: { model: object; tools: object },
  gear: Switchgear | undefined,
  workers: readonly string[] = [],
) {
  return gear === undefined ? call : protect(call, { gear, workers });
}

/** Keeps what the model is shown of each call, once. */
export function collectToolResults(prompt: ModelParams['prompt'], toolResults: Map<string, string>): void {
  for (const { content } of prompt) {
    if (!Array.isArray(content)) continue;
    for (const { type, toolCallId, output } of content as readonly Part[]) {
      const shown = (output as { value?: unknown; reason?: unknown } | undefined) ?? {};
      if (type === 'tool-result') toolResults.set(String(toolCallId), String(shown.value ?? shown.reason ?? ''));
    }
  }
}

export function makeAnswer({ text, calls = [], tokens = 10 }: HostTurn, turn: number) {
  const total = { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 };
  return {
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ tool, input = {} }, index) => ({
        type: 'tool-call',
        toolCallId: `call-${turn}-${index}`,
        toolName: tool,
        input: JSON.stringify(input),
      })),
    ],
    finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: { inputTokens: total, outputTokens: { total: tokens, text: tokens, reasoning: 0 } },
    warnings: [],
  };
}

/** A text without end as the parts of a stream. */
export async function* makeEndlessParts(chunks: NonNullable<HostTurn['chunks']>): AsyncGenerator<Part> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: 'text' };
  for await (const delta of chunks()) yield { type: 'text-delta', id: 'text', delta };
}

/** An answer as the parts of a stream. */
export function makeStreamParts(answer: unknown): Part[] {
  const { content, finishReason, usage } = answer as { content: Part[]; finishReason: unknown; usage: unknown };
  const parts = content.flatMap((part, index): Part[] => {
    const id = `text-${index}`;
    if (part.type !== 'text') return [part];
    return [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: part.text },
      { type: 'text-end', id },
    ];
  });
  return [{ type: 'stream-start', warnings: [] }, ...parts, { type: 'finish', finishReason, usage }];
}
