/** Texts that are told in pieces, joined: they are compared with others as what they are, one text. */

import { textLengthMax } from '../../core/limits.ts';
import type { AssistantEvent } from '../reading/agent-event.ts';

export interface JoinedTexts {
  add(event: AssistantEvent): void;
  /** Something else came: what an agent said until now is a whole text. */
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
      const before = pieces.get(key)?.text ?? '';
      pieces.set(key, { ...event, text: (before + event.text).slice(0, textLengthMax) });
    },
    close,
    end() {
      for (const { agent } of [...pieces.values()]) close(agent);
    },
  };
}
