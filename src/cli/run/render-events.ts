/**
 * Renders the events of an agent as text: progress goes to stderr line by line, and the answer to stdout at the end,
 * as the program itself prints without event flags.
 */

import type { AgentEvent } from '../../agents/index.ts';
import { peek } from '../../core/classify.ts';
import { textOf } from '../../core/foreign-text.ts';
import { answerLengthMax, progressLengthMax } from '../../core/limits.ts';
import type { Paint } from '../../operator/format.ts';
import { formatSingleLine, type Screen } from './screen.ts';

export interface EventRenderer {
  render(event: AgentEvent): void;
  /** Prints the last text: the answer, or the last progress of a stopped agent. */
  end(isAnswer: boolean): void;
}

export function createEventRenderer(screen: Screen, paint: Paint, isQuiet: boolean): EventRenderer {
  /** The last text of the main agent, which is its answer if no other text follows. */
  let answerText = '';
  let messageId: string | undefined;
  const names = new Map<string, string>();

  const printProgress = (text: string) => {
    if (!isQuiet) screen.printLine(text);
  };

  /** Prints the last text as progress, because another event follows. */
  function flushAsProgress(): void {
    if (answerText.trim() !== '') printProgress(formatSingleLine(answerText, progressLengthMax));
    answerText = '';
    messageId = undefined;
  }

  function appendText({ text, message: id, piece }: Extract<AgentEvent, { type: 'assistant' }>): void {
    const isContinuation = piece === true && answerText !== '' && id === messageId;
    if (!isContinuation) flushAsProgress();
    if (answerText.length < answerLengthMax) answerText += text;
    messageId = id;
  }

  return {
    render(event) {
      switch (event.type) {
        case 'assistant':
          if (event.agent === undefined) appendText(event);
          return;
        case 'tool_use': {
          if (event.agent === undefined) flushAsProgress();
          if (names.size > 1_000) names.clear();
          names.set(event.id, event.name);
          const indent = event.agent === undefined ? '' : '  ';
          printProgress(
            paint(
              `${indent}→ ${formatSingleLine(`${event.name} ${describeInput(event.input)}`, progressLengthMax)}`,
              'dim',
            ),
          );
          return;
        }
        case 'tool_result': {
          if (event.ok !== false) return;
          const name = names.get(event.id) ?? 'a call';
          printProgress(
            paint(
              `✗ ${formatSingleLine(`${name}: ${event.error ?? formatValue(event.output)}`, progressLengthMax)}`,
              'red',
            ),
          );
          return;
        }
        case 'result':
          if (event.text === undefined) return;
          if (answerText.trim() !== event.text.trim()) flushAsProgress();
          answerText = event.text;
          return;
        case 'notice':
          printProgress(
            paint(formatSingleLine(event.text, progressLengthMax), event.level === 'info' ? 'dim' : 'yellow'),
          );
          return;
        case 'output':
          void screen.out(`${event.text}\n`);
          return;
        default:
          return; // The status line shows counts and signs of life.
      }
    },
    end(isAnswer) {
      if (!isAnswer) flushAsProgress();
      if (answerText !== '') void screen.out(answerText.endsWith('\n') ? answerText : `${answerText}\n`);
      answerText = '';
    },
  };
}

/** The fields of a call's input that describe it best. */
const describingFields = [
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
];
const describedLength = { characters: 4 * progressLengthMax };

/** The most descriptive part of a call's input, for the terminal. */
export function describeInput(input: unknown): string {
  for (const key of describingFields) {
    const value = peek(input, key);
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return value.slice(0, progressLengthMax).map(formatValue).join(' ');
  }
  return formatValue(input);
}

function formatValue(value: unknown): string {
  return value === undefined ? '' : textOf(value, describedLength);
}
