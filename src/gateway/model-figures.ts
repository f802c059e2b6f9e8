/** Figures about models from finished calls, by which tokens are estimated before and during a call. */

import { getOrCreate } from '../core/bounded.ts';
import { readCount } from '../core/read-count.ts';
import type { PricedUsage } from '../guard/internal.ts';
import { modelFiguresMax, outputTokensMin } from './limits.ts';
import { type AnswerReader, asFields, type Fields, type RequestFacts, readCounts } from './shapes/shape.ts';

/** The figures of one model. */
interface Figures {
  bytesPerToken: number;
  lettersPerToken: number;
  usualOutput: number;
  /** Tokens of reasoning that an answer usually has and that the provider does not show. */
  hiddenOutput: number;
}

/** The size of a prompt: its bytes without files in base64, and the tokens of those files. */
export interface PromptSize {
  readonly bytes: number;
  readonly fileTokens: number;
}

/** Estimates are a little too high rather than too low. */
const bias = 1.03;
/** The weight of the newest call in a figure. */
const newest = 0.3;
/** Models of OpenAI that reason and do not show it; before the first call whose usage tells how much, this is taken. */
const reasoningModel = /(?:^|\/)(?:o[1-9](?![a-z\d])|gpt-5(?!\S*-chat))/i;
const unknownHiddenOutput = 1_000;

export interface ModelFigures {
  /** The tokens of a prompt. */
  estimateInput(model: string, size: PromptSize): number;
  /** The tokens of some letters that a model wrote. */
  countWritten(model: string, letters: number): number;
  /** The tokens of an answer of which some letters have come, with the reasoning that is not shown. */
  countAnswer(request: RequestFacts, letters: number): number;
  /** The output tokens that a model usually writes. */
  usualOutput(model: string): number;
  /** The usage of an answer: as the provider reported it, or estimated as far as it did not. */
  readUsage(request: RequestFacts, size: PromptSize, answer: AnswerReader): PricedUsage;
  /** Learns from a finished call. */
  learn(request: RequestFacts, size: PromptSize, answer: AnswerReader): void;
}

export function createModelFigures(): ModelFigures {
  const models = new Map<string, Figures>();
  /** Figures that have learned from a count of reasoning. */
  const hasReasoned = new WeakSet<Figures>();
  const figuresOf = (model: string): Figures =>
    getOrCreate(models, model, modelFiguresMax, () => {
      const hiddenOutput = reasoningModel.test(model) ? unknownHiddenOutput : 0;
      return { bytesPerToken: 4, lettersPerToken: 4, usualOutput: 0, hiddenOutput };
    });

  function estimateInput(model: string, { bytes, fileTokens }: PromptSize): number {
    return Math.ceil((bytes / figuresOf(model).bytesPerToken) * bias) + fileTokens;
  }

  function countWritten(model: string, letters: number): number {
    return Math.ceil((letters / figuresOf(model).lettersPerToken) * bias);
  }

  function countAnswer({ model, maxOutput }: RequestFacts, letters: number): number {
    const written = countWritten(model, letters);
    const hidden = Math.ceil(figuresOf(model).hiddenOutput * bias);
    return Math.max(written, Math.min(written + hidden, maxOutput?.tokens ?? Number.MAX_VALUE));
  }

  return {
    estimateInput,
    countWritten,
    countAnswer,
    usualOutput: (model) => Math.max(outputTokensMin, Math.ceil(figuresOf(model).usualOutput)),
    readUsage(request, size, answer) {
      const model = answer.model ?? request.model;
      const counts = readCounts(answer.usage);
      if (answer.isUsageFinal) return { ...(counts ?? { inputTokens: 0, outputTokens: 0 }), model };
      const written = countAnswer(request, answer.writtenLength);
      return {
        ...counts,
        model,
        inputTokens: counts?.inputTokens || estimateInput(request.model, size),
        outputTokens: Math.max(counts?.outputTokens ?? 0, written),
        estimated: true,
      };
    },
    learn(request, size, answer) {
      const counts = answer.isUsageFinal ? readCounts(answer.usage) : undefined;
      if (counts === undefined) return;
      const figures = figuresOf(request.model);
      const move = (name: keyof Figures, value: number) => {
        figures[name] = figures[name] === 0 ? value : figures[name] * (1 - newest) + value * newest;
      };
      if (counts.inputTokens > 0 && size.fileTokens === 0)
        move('bytesPerToken', within(size.bytes / counts.inputTokens, 1, 16));
      // Reasoning that is not shown would look like very short tokens.
      const isShown = answer.writtenLength >= counts.outputTokens;
      if (counts.outputTokens >= 20 && isShown)
        move('lettersPerToken', within(answer.writtenLength / counts.outputTokens, 1, 8));
      move('usualOutput', counts.outputTokens);
      const reasoning = readReasoning(answer.usage!);
      // Only a stream tells whether its reasoning is shown, and these models never show it.
      if (reasoning === undefined || !(request.isStream || reasoningModel.test(request.model))) return;
      const shown = answer.writtenLength / figures.lettersPerToken;
      const hidden = Math.min(reasoning, Math.max(0, counts.outputTokens - shown));
      figures.hiddenOutput = hasReasoned.has(figures) ? figures.hiddenOutput * (1 - newest) + hidden * newest : hidden;
      hasReasoned.add(figures);
    },
  };
}

/** The tokens of reasoning that a usage tells; undefined if it tells none. */
function readReasoning(usage: Fields): number | undefined {
  const { reasoning_tokens: count } = asFields(usage.completion_tokens_details ?? usage.output_tokens_details);
  return count === undefined || count === null ? undefined : readCount(count);
}

function within(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** Strings of this length or more may be files. */
const fileLengthMin = 1_024;
const base64 = /^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{512}/;

/** Measures a prompt. Files in base64 have far fewer tokens than letters. */
export function measurePrompt(body: Fields, byteLength: number): PromptSize {
  let bytes = byteLength;
  let fileTokens = 0;
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === 'string') {
      if (value.length < fileLengthMin || !base64.test(value)) return;
      bytes -= value.length;
      fileTokens += 1_600 + Math.ceil(value.length / 100);
    } else if (typeof value === 'object' && value !== null && depth < 12) {
      for (const each of Object.values(value)) visit(each, depth + 1);
    }
  };
  if (byteLength >= fileLengthMin) visit(asFields(body), 0);
  return { bytes: Math.max(0, bytes), fileTokens };
}
