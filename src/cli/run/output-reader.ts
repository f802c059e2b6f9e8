/** What an agent prints on its way through: passed on or shown, read into events, and told to whoever wants to know. */

import { type AgentCommand, type AgentEvent, boundedLines, fallbackReader } from '../../agents/index.ts';
import { createPaint } from '../terminal-table.ts';
import type { RunWorld } from './context.ts';
import type { Way } from './launch.ts';
import { renderer } from './render-events.ts';

export interface Feed {
  take(piece: Buffer): Promise<void> | undefined;
  /** Nothing more comes. What an agent said last is its answer if it came to its end. */
  end(isAnswer: boolean): void;
}

export function runFeed(
  { screen, terminal, options, emit }: RunWorld,
  agent: AgentCommand,
  way: Way,
  tell: (event: AgentEvent) => void,
): Feed {
  const isText = agent.stream === 'text' || (agent.stream === 'asked' && way === 'pass');
  const reader = isText ? fallbackReader() : agent.reader();
  const shown = way === 'show' ? renderer(screen, createPaint(terminal), options.quiet) : undefined;

  function hear(events: readonly AgentEvent[]): void {
    for (const event of events) {
      tell(event);
      shown?.show(event);
      if (way === 'events' && event.type !== 'heartbeat') emit('event', event);
    }
  }

  const lines = boundedLines({
    line(line) {
      hear(reader.read(line));
      if (way === 'events' && isText) emit('event', { type: 'output', text: line });
    },
    skipped: () => hear([{ type: 'heartbeat' }]),
  });

  return {
    take(piece) {
      lines.write(piece);
      return way === 'pass' ? screen.out(piece) : screen.full();
    },
    end(isAnswer) {
      lines.end();
      hear(reader.end());
      shown?.end(isAnswer);
    },
  };
}
