/** Reads the output of an agent into events, and passes the output on or renders it. */

import { type AgentCommand, type AgentEvent, boundedLines, fallbackReader } from '../../agents/index.ts';
import { markEvents, markEventsOf } from '../../agents/reading/event-source.ts';
import { readLongLine } from '../../agents/reading/long-line.ts';
import { countError, runtimeOf } from '../../guard/internal.ts';
import { formatCount } from '../../operator/format.ts';
import { createPaint } from '../terminal-table.ts';
import type { RunCommandContext } from './context.ts';
import type { LaunchMode } from './launch.ts';
import { createEventRenderer } from './render-events.ts';

export interface OutputReader {
  feed(piece: Buffer): Promise<void> | undefined;
  /** Ends the output; the last message of an agent that finished is its answer. */
  end(isAnswer: boolean): void;
}

export function createOutputReader(
  { gear, screen, terminal, options, emit }: RunCommandContext,
  agent: AgentCommand,
  mode: LaunchMode,
  onEvent: (event: AgentEvent) => void,
): OutputReader {
  const runtime = runtimeOf(gear);
  const isText = agent.stream === 'text' || (agent.stream === 'asked' && mode === 'pass');
  const reader = markEventsOf(
    isText && agent.cli !== 'other' ? fallbackReader(options.heartbeats ? 'always' : 'never') : agent.reader(),
    'stream',
  );
  const eventRenderer = mode === 'show' ? createEventRenderer(screen, createPaint(terminal), options.quiet) : undefined;

  /** Nothing that an agent prints ends the supervisor: a part that fails on it is counted, and the others go on. */
  function attempt<T>(part: () => T): T | undefined {
    try {
      return part();
    } catch (error) {
      countError(runtime, 'run', error);
      return undefined;
    }
  }

  function handleEvents(events: readonly AgentEvent[]): void {
    for (const event of events) {
      attempt(() => onEvent(event));
      attempt(() => eventRenderer?.render(event));
      if (mode === 'pass' && event.type === 'notice' && event.isAboutReading === true)
        attempt(() => options.quiet || screen.printLine(`switchgear: ${event.text}`));
      if (mode === 'events' && event.type !== 'heartbeat') attempt(() => emit('event', event));
    }
  }

  const lines = boundedLines({
    line(line) {
      handleEvents(attempt(() => reader.read(line)) ?? [{ type: 'heartbeat' }]);
      if (mode === 'events' && isText) emit('event', { type: 'output', text: line });
    },
    skipped: (head, length) => handleEvents(markEvents(readLongLine(head, length), 'stream')),
  });

  return {
    feed(piece) {
      lines.write(piece);
      return mode === 'pass' ? screen.out(piece) : screen.pendingDrain();
    },
    end(isAnswer) {
      lines.end();
      handleEvents(attempt(() => reader.end()) ?? []);
      if (lines.skipped > 0) {
        emit('run', { type: 'lines-skipped', lines: lines.skipped, characters: lines.skippedLength });
        const number = formatCount(lines.skipped, 'line');
        screen.printLine(`switchgear: too long to read whole: ${number} of the agent; their beginnings were counted`);
      }
      attempt(() => eventRenderer?.end(isAnswer));
    },
  };
}
