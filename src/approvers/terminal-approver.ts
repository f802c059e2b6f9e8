/** Asks a question at the terminal; is unavailable without one. */

import { createInterface } from 'node:readline';
import { type Card, parseEditedArgs } from '../core/card.ts';
import { cleanLine } from '../core/foreign-text.ts';
import { questionTriesMax } from '../core/limits.ts';
import type { Answer, Approver } from '../ports/approver.ts';
import { userName } from './user-name.ts';

/** Options of `terminalApprover`. */
export interface TerminalOptions {
  /**
   * The stream that answers come from.
   * @default process.stdin
   */
  readonly input?: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /**
   * The stream that questions are written to.
   * @default process.stderr
   */
  readonly output?: NodeJS.WritableStream;
}

/** The answer that asks for other arguments. */
const editWord = 'edit';

const answersByWord: Readonly<Record<string, Pick<Answer, 'approved' | 'for'>>> = {
  y: { approved: true },
  yes: { approved: true },
  n: { approved: false },
  no: { approved: false },
  run: { approved: true, for: 'run' },
  always: { approved: true, for: 'always' },
};

/**
 * Creates an approver that asks at the terminal.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { terminalApprover } from 'switchgear/approvers';
 *
 * const policy = { rules: ['ability:pay|confirm|"Pay?"'] };
 * const gear = createSwitchgear({ policy, approver: terminalApprover() });
 */
export function terminalApprover({ input = process.stdin, output = process.stderr }: TerminalOptions = {}): Approver {
  return {
    name: 'terminal',
    isAvailable: () => input.isTTY === true,
    async ask(card, signal) {
      if (input.isTTY !== true) throw new Error('there is no terminal: standard input is not a TTY');
      signal.throwIfAborted();
      const lines = createInterface({ input, output });
      const onAbort = () => lines.close();
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        const words = listWords(card);
        lines.setPrompt(`${card.evidence.map((line) => cleanLine(line)).join('\n')}\nGo on? [${words.join('/')}] `);
        lines.prompt();
        let tries = 0;
        let isEditing = false;
        for await (const line of lines) {
          if (signal.aborted) break;
          const args = isEditing ? readArgs(line, output) : undefined;
          if (args !== undefined) return { approved: true, by: userName(), args };
          const word = isEditing ? '' : line.trim().toLowerCase();
          if (word === editWord && words.includes(word)) {
            isEditing = true;
            lines.setPrompt('New arguments as JSON, in one line: ');
            lines.prompt();
            continue;
          }
          const answer = words.includes(word) || word === 'yes' || word === 'no' ? answersByWord[word] : undefined;
          if (answer !== undefined) return { ...answer, by: userName() };
          if (++tries >= questionTriesMax) break;
          if (!isEditing) output.write(`Please say ${words.join(', ')}.\n`);
          lines.prompt();
        }
        throw new Error('the terminal gave no yes or no');
      } finally {
        signal.removeEventListener('abort', onAbort);
        lines.close();
      }
    },
  };
}

/** The answers that a card offers. */
function listWords({ actions }: Card): readonly string[] {
  return [
    'y',
    'n',
    ...(actions.includes('approve_run') ? ['run'] : []),
    ...(actions.includes('approve_always') ? ['always'] : []),
    ...(actions.includes('approve_edited') ? [editWord] : []),
  ];
}

/** The arguments in a line; undefined, with a word about it, if the line is no JSON. */
function readArgs(line: string, output: NodeJS.WritableStream): readonly unknown[] | undefined {
  try {
    return parseEditedArgs(line);
  } catch (error) {
    output.write(`${(error as Error).message}\n`);
    return undefined;
  }
}
