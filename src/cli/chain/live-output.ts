/** Prints a running chain: one line for each event of a step. */

import type { RuleCheck, RunEvent } from '../../chains/run/state/run-event.ts';
import { formatTimeSpan } from '../../core/quote.ts';
import { sanitizeText, type TableCell } from '../../operator/format.ts';
import type { Terminal } from '../command.ts';
import { createPaint, formatTable } from '../terminal-table.ts';
import { formatDuration } from './report.ts';

export interface LiveOutputOptions {
  /** Whether to print the result of every rule before each step. */
  readonly explain: boolean;
  /** The store option of the printed commands. */
  readonly storeOption: string;
}

/** Creates a listener that prints the events of a run. */
export function createLiveOutput(
  terminal: Terminal,
  { explain, storeOption }: LiveOutputOptions,
): (event: RunEvent) => void {
  const paint = createPaint(terminal);
  const printStep = (step: string, ...cells: readonly TableCell[]) => {
    const words = cells.map(({ text, style }) => paint(sanitizeText(text), style)).join('  ');
    terminal.out(`  ${sanitizeText(step)}  ${words}`);
  };
  return (event) => {
    switch (event.type) {
      case 'run-started':
      case 'run-resumed': {
        const { chain, id } = event.run;
        const word = event.type === 'run-started' ? '' : ' resumed';
        return terminal.out(paint(`${sanitizeText(chain.name ?? chain.id)}, run ${id}${word}`, 'bold'));
      }
      case 'rules-checked':
        if (explain) for (const line of formatRuleRows(event.step, event.rows)) terminal.out(line);
        return;
      case 'step-ended': {
        const { id, status, reason, startedWallMs = 0, endedWallMs = 0 } = event.step;
        if (status === 'skipped') return printStep(id, { text: `skipped: ${reason ?? ''}`, style: 'dim' });
        const took = { text: `in ${formatDuration(endedWallMs - startedWallMs)}`, style: 'dim' as const };
        if (status === 'done') return printStep(id, { text: event.ability }, { text: 'done', style: 'green' }, took);
        return printStep(id, { text: event.ability }, { text: status, style: 'red' }, took);
      }
      case 'programs-left':
        for (const line of event.lines) printStep(event.step, { text: line, style: 'yellow' });
        return;
      case 'question-asked': {
        const { card, step, waitMs } = event;
        const [what = '', reason = what, ...more] = card.evidence;
        printStep(step || 'the run', { text: `asks: ${reason}`, style: 'yellow' });
        for (const line of more) terminal.out(`    ${sanitizeText(line)}`);
        const place = `switchgear inbox show ${card.id}${storeOption}`;
        return terminal.out(`    a person can answer within ${formatTimeSpan(waitMs)} in the inbox: ${place}`);
      }
      case 'approval-found': {
        const lasts = event.for === 'run' ? 'for this run' : 'always: switchgear inbox standing lists it';
        return printStep(event.step || 'the run', { text: `approved by ${event.by} ${lasts}`, style: 'green' });
      }
      case 'question-answered': {
        const { by = 'somebody', answer } = event.card;
        const word = answer === 'decline' ? 'declined' : 'approved';
        return printStep(event.step || 'the run', {
          text: `${word} by ${by}`,
          style: answer === 'decline' ? 'red' : 'green',
        });
      }
      case 'step-held':
        return printStep(event.step || 'the run', { text: `held up: ${event.reason}`, style: 'yellow' });
      case 'store-away':
        return terminal.err(`warning: ${sanitizeText(event.reason)}; waiting for the store`);
      case 'store-back':
        return terminal.err('The store is back.');
      case 'step-started':
      case 'run-ended':
        return;
    }
  };

  function formatRuleRows(step: string, rows: readonly RuleCheck[]): readonly string[] {
    const cells = rows.map(({ rule, action, fired, value, limit }) => [
      fired ? { text: 'fired', style: 'red' as const } : { text: 'passed', style: 'dim' as const },
      { text: action },
      { text: rule.replace(/^chain:[^|]*\|/, '').replace(/\|\w+$/, '') },
      { text: `${value} (limit ${limit})` },
    ]);
    return [
      `  rules ${step === '' ? 'of the run' : `before ${sanitizeText(step)}`}:`,
      ...formatTable(cells, paint).map((line) => `  ${line}`),
    ];
  }
}
