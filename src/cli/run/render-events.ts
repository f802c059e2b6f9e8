/**
 * What an agent says in events, for a person: what it does goes to stderr line by line, and its answer to stdout at the
 * end, as the program itself would print it had nobody asked it for events.
 */

import type { AgentEvent } from '../../agents/index.ts';
import { answerLengthMax, progressLengthMax } from '../../core/limits.ts';
import type { Paint } from '../terminal-table.ts';
import { oneLine, type Screen } from './screen.ts';

export interface Renderer {
  show(event: AgentEvent): void;
  /** Prints what was said last: the answer, or just the last words of one that was stopped. */
  end(isAnswer: boolean): void;
}

export function renderer(screen: Screen, paint: Paint, isQuiet: boolean): Renderer {
  /** The last words of the main agent: its answer, if nothing follows. */
  let words = '';
  let message: string | undefined;
  const names = new Map<string, string>();

  const progress = (text: string) => {
    if (!isQuiet) screen.say(text);
  };

  /** What was said turned out not to be the last of it. */
  function pass(): void {
    if (words.trim() !== '') progress(oneLine(words, progressLengthMax));
    words = '';
    message = undefined;
  }

  function hear({ text, message: id, piece }: Extract<AgentEvent, { type: 'assistant' }>): void {
    const goesOn = piece === true && words !== '' && id === message;
    if (!goesOn) pass();
    if (words.length < answerLengthMax) words += text;
    message = id;
  }

  return {
    show(event) {
      switch (event.type) {
        case 'assistant':
          if (event.agent === undefined) hear(event);
          return;
        case 'tool_use': {
          if (event.agent === undefined) pass();
          if (names.size > 1_000) names.clear();
          names.set(event.id, event.name);
          const whose = event.agent === undefined ? '' : '  ';
          progress(paint(`${whose}→ ${oneLine(`${event.name} ${inputText(event.input)}`, progressLengthMax)}`, 'dim'));
          return;
        }
        case 'tool_result': {
          if (event.ok !== false) return;
          const name = names.get(event.id) ?? 'a call';
          progress(paint(`✗ ${oneLine(`${name}: ${event.error ?? textOf(event.output)}`, progressLengthMax)}`, 'red'));
          return;
        }
        case 'result':
          if (event.text === undefined) return;
          if (words.trim() !== event.text.trim()) pass();
          words = event.text;
          return;
        case 'notice':
          progress(paint(oneLine(event.text, progressLengthMax), event.level === 'info' ? 'dim' : 'yellow'));
          return;
        case 'output':
          void screen.out(`${event.text}\n`);
          return;
        default:
          return; // Counts and signs of life are in the status line.
      }
    },
    end(isAnswer) {
      if (!isAnswer) pass();
      if (words !== '') void screen.out(words.endsWith('\n') ? words : `${words}\n`);
      words = '';
    },
  };
}

/** The part of a call's input that says most; the terminal belongs to whoever runs the agent. */
export function inputText(input: unknown): string {
  if (typeof input !== 'object' || input === null) return textOf(input);
  for (const key of [
    'command',
    'cmd',
    'file_path',
    'filePath',
    'path',
    'pattern',
    'query',
    'url',
    'prompt',
    'description',
  ]) {
    const value = (input as Record<string, unknown>)[key];
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value.join(' ');
  }
  return textOf(input);
}

function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
