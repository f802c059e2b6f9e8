/** The APIs that the gateway knows. */

import { anthropic } from './anthropic.ts';
import { geminiContent } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import type { ApiShape } from './shape.ts';

export const shapes: readonly ApiShape[] = [anthropic, openaiChat, openaiResponses, geminiContent];

/** The API in whose shape a refusal of another path of a provider is said. */
export function shapeOf(provider: ApiShape['provider']): ApiShape {
  return shapes.find((each) => each.provider === provider)!;
}

/** The API whose model call a path is. */
export function findShape(path: string): ApiShape | undefined {
  return shapes.find((each) => each.isModelCall(path));
}
