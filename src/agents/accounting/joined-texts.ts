/** Joins texts that arrive in pieces, so that a whole text is compared with others. */

import { textLengthMax } from '../../core/limits.ts';
import type { AssistantEvent } from '../reading/agent-event.ts';

export interface JoinedTexts {
  add(event: AssistantEvent): void;
  /** Completes the text of an agent, because another event arrived. */
  close(agent: string | undefined): void;
  end(): void;
}

export function joinTexts(emit: (event: AssistantEvent) => void): JoinedTexts {
  const pieces = new Map<string, AssistantEvent>();

  function close(agent: string | undefined): void {
    const joined = pieces.get(agent ?? '');
    if (joined === undefined) return;
    pieces.delete(agent ?? '');
    emit(joined);
  }

  return {
    add(event) {
      const key = event.agent ?? '';
      // The next message may follow the last piece of one with nothing between them.
      const { message = event.message } = pieces.get(key) ?? {};
      if (event.message !== undefined && message !== event.message) close(event.agent);
      const before = pieces.get(key)?.text ?? '';
      if (before.length >= textLengthMax) return;
      pieces.set(key, { ...event, text: (before + event.text).slice(0, textLengthMax) });
    },
    close,
    end() {
      for (const { agent } of [...pieces.values()]) close(agent);
    },
  };
}
