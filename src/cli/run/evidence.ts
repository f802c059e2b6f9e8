/** What a halted agent did last and how often: quoted at the terminal of whoever runs it, and kept nowhere else. */

import type { AgentEvent } from '../../agents/index.ts';
import { recent } from '../../core/bounded.ts';
import { callsKeptMax, countedIdsMax, progressLengthMax } from '../../core/limits.ts';
import { inputText } from './render-events.ts';
import { oneLine } from './screen.ts';

export interface Evidence {
  hear(event: AgentEvent): void;
  /** Sentences about the calls; none where there were none. */
  sentences(): readonly string[];
}

export function evidence(): Evidence {
  const times = new Map<string, number>();
  const seen = recent<true>(countedIdsMax);
  let last: string | undefined;
  return {
    hear(event) {
      // A call is told by the stream and by a file.
      if (event.type !== 'tool_use' || seen.get(event.id) === true) return;
      seen.set(event.id, true);
      last = `${event.name} ${inputText(event.input)}`.slice(0, 4 * progressLengthMax);
      const many = (times.get(last) ?? 0) + 1;
      times.delete(last);
      times.set(last, many);
      if (times.size > callsKeptMax) times.delete(times.keys().next().value!);
    },
    sentences() {
      if (last === undefined) return [];
      const [most, many] = [...times].reduce((one, other) => (other[1] > one[1] ? other : one));
      const ofLast = times.get(last) ?? 1;
      const shown = (call: string) => oneLine(call, progressLengthMax);
      const sentences = [`the last call was: ${shown(last)}${ofLast > 1 ? ` (seen ${ofLast} times)` : ''}`];
      if (most !== last && many > 1) sentences.push(`seen most often: ${shown(most)} (${many} times)`);
      return sentences;
    },
  };
}
