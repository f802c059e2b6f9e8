/** The events of a Black Box session stream, and their translation to observations of a task. */

import type { AnthropicUsage } from '../core/prices/builtin-prices.ts';
import type { Observation } from '../guard/api.ts';

/** An event of a session. Without `taskId` the event belongs to the task that started last. */
export type SessionEvent =
  | { readonly type: 'assistant'; readonly text: string; readonly toolUse?: boolean; readonly taskId?: string }
  | { readonly type: 'tool_use'; readonly name?: string; readonly id?: string; readonly taskId?: string }
  | {
      readonly type: '[heartbeat]' | 'heartbeat';
      /** `starting`, `done` and `error` begin and end a task; every other phase is a sign of life. */
      readonly phase: string;
      readonly taskId?: string;
    }
  | {
      readonly type: 'usage';
      readonly usage: AnthropicUsage;
      /**
       * The model of the call; ignored unless the breaker has prices. Without prices every call costs as much as Sonnet
       * 4.
       */
      readonly model?: string;
      /** The id of the usage report; a second report with the same id costs nothing. */
      readonly id?: string;
      readonly taskId?: string;
    };

/** Converts an event to an observation; undefined for an unknown kind. */
export function toObservation(event: SessionEvent, byModel: boolean): Observation | undefined {
  switch (event.type) {
    case 'assistant':
      // Without `toolUse` a call may follow as an event of its own.
      return {
        type: 'assistant',
        text: event.text,
        ...(typeof event.toolUse === 'boolean' && { toolUse: event.toolUse }),
      };
    case 'tool_use':
      return { type: 'tool_use', name: typeof event.name === 'string' ? event.name : 'tool', ...withId(event.id) };
    case 'usage': {
      const usage = event.usage ?? {};
      const cacheReadTokens = readCount(usage.cache_read_input_tokens);
      const cacheWriteTokens = readCount(usage.cache_creation_input_tokens);
      return {
        type: 'usage',
        ...withId(event.id),
        ...(byModel && typeof event.model === 'string' && { model: event.model }),
        inputTokens: readCount(usage.input_tokens) + cacheReadTokens + cacheWriteTokens,
        outputTokens: readCount(usage.output_tokens),
        cacheReadTokens,
        cacheWriteTokens,
      };
    }
    case '[heartbeat]':
    case 'heartbeat':
      return { type: 'heartbeat' };
    default:
      return undefined;
  }
}

function withId(id: unknown): { readonly id?: string } {
  return typeof id === 'string' && id !== '' ? { id } : {};
}

function readCount(tokens: unknown): number {
  return typeof tokens === 'number' && Number.isFinite(tokens) && tokens > 0 ? tokens : 0;
}
