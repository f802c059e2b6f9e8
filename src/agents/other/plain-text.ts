/** Reads plain text: every line is a sign of life, and each paragraph is compared with earlier ones. */

import { plainWordsMin, textLengthMax } from '../../core/limits.ts';
import type { AgentEvent } from '../reading/agent-event.ts';
import { heartbeatOnly, noEvents, type Reader } from '../reading/reader.ts';

/** Creates a reader of plain text output. */
export function plainTextReader(): Reader {
  let paragraph = '';

  function close(): readonly AgentEvent[] {
    const text = paragraph;
    paragraph = '';
    // Short texts are progress messages: `ok`, `done`, `step 3`.
    if (text.split(/\s+/, plainWordsMin).length < plainWordsMin) return noEvents;
    return [{ type: 'assistant', text }];
  }

  return {
    read(line) {
      if (line.trim() === '') return close();
      if (paragraph.length + line.length < textLengthMax) paragraph += paragraph === '' ? line : `\n${line}`;
      return heartbeatOnly;
    },
    end: close,
  };
}
