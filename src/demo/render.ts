/** Prints the demo on a terminal: 80 columns, and colours only if the terminal supports them. */

import { styleText } from 'node:util';
import type { Entry } from '../core/event.ts';
import type { AgentRunResult } from './agent-runner.ts';
import { type AttemptMark, type Scene, type SceneResult, stopCodeOf } from './scene.ts';

const columns = 80;
const indent = '   ';
const nameWidth = 17;

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export interface DemoRenderer {
  renderOpening(): readonly string[];
  renderHeading(text: string, more: string): readonly string[];
  renderScene(number: number, scene: Scene, result: SceneResult, faults: readonly string[]): readonly string[];
  renderClosing(
    rows: readonly { readonly scene: Scene; readonly result: SceneResult; readonly ok: boolean }[],
  ): readonly string[];
}

const signs: Readonly<Record<AttemptMark, { readonly sign: string; readonly style: Style }>> = {
  ran: { sign: '✓', style: 'green' },
  failed: { sign: '✗', style: 'yellow' },
  refused: { sign: '⊘', style: 'red' },
  halted: { sign: '■', style: 'red' },
  said: { sign: '·', style: 'cyan' },
};

const legend: readonly (readonly [AttemptMark, string])[] = [
  ['ran', 'ran'],
  ['failed', 'ran and failed'],
  ['refused', 'refused'],
  ['halted', 'stopped'],
  ['said', 'said something'],
];

export function createDemoRenderer(coloured: boolean): DemoRenderer {
  const paint = (text: string, ...styles: Style[]) =>
    coloured ? styleText(styles, text, { validateStream: false }) : text;
  const paintMark = (mark: AttemptMark) => paint(signs[mark].sign, signs[mark].style);

  function formatMarks({ name, marks }: SceneResult): string {
    const head = `${indent}${name.padEnd(nameWidth)}`;
    if (head.length + marks.length <= columns) return head + marks.map(paintMark).join('');
    const ran = marks.filter((mark) => mark === 'ran').length;
    const rest = marks.filter((mark) => mark !== 'ran');
    return `${head}${paintMark('ran')} ${ran.toLocaleString('en')} times ${rest.map(paintMark).join('')}`.trimEnd();
  }

  /** A label in the margin with text beside it. */
  function formatAside(word: string, text: string, ...styles: Style[]): string[] {
    return wrap(text, columns - indent.length - nameWidth).map((line, at) => {
      return `${indent}${paint((at === 0 ? word : '').padEnd(nameWidth), ...styles)}${paint(line, ...styles)}`;
    });
  }

  const indented = (line: string) => paint(`${indent}${line}`, 'dim');

  /** The output that a user of `switchgear run` sees: the reason, the counters, the evidence, the exit code. */
  function formatRunOutput({ code, stderrLines: [first = '', ...more], exitCode, answer }: AgentRunResult): string[] {
    if (code === undefined) return formatAside('left alone', answer ?? 'it ended by itself', 'green');
    return [
      ...formatAside('STOPPED', first.replace(/^switchgear: /, ''), 'bold', 'red'),
      ...more.flatMap((line) => formatAside('', line.trim())),
      ...formatAside('', `exit code ${exitCode}`, 'dim'),
    ];
  }

  return {
    renderOpening: () => [
      paint('Agents that spiral, each stopped by its own kind of count, and two that do well.', 'bold'),
      'No network, no key, no model: they follow scripts. The limits are the defaults.',
      '',
      legend.map(([mark, word]) => `${paintMark(mark)} ${word}`).join('  '),
    ],
    renderHeading: (text, more) => ['', paint(text, 'bold', 'cyan'), ...wrap(more, columns)],
    renderScene: (number, scene, result, faults) => {
      const { refusal, journal, agentRun: watched } = result;
      const stop = refusal?.kind === 'halt' || refusal?.code === 'storm' ? 'STOPPED' : 'REFUSED';
      return [
        '',
        paint(`${String(number).padEnd(indent.length)}${scene.title}`, 'bold'),
        ...(watched === undefined ? [] : wrap(`$ ${watched.command}`, columns - indent.length).map(indented)),
        formatMarks(result),
        ...(watched === undefined ? [] : formatRunOutput(watched)),
        ...describeJournal(journal).flatMap(([word, text]) => formatAside(word, text, 'dim')),
        ...(refusal === undefined
          ? []
          : [
              ...formatAside(stop, refusal.explanation, 'bold', 'red'),
              ...formatAside('the model reads', `${refusal.message.replace(/\.?$/, '.')} ${refusal.remediation}`),
            ]),
        ...faults.flatMap((fault) => formatAside('NOT AS IT SHOULD', fault, 'bold', 'yellow')),
      ];
    },
    renderClosing: (rows) => {
      const row = (cells: readonly string[]) =>
        cells.map((cell, at) => cell.padEnd(at < cells.length - 1 ? widths[at]! : 0)).join('');
      const stopped = rows.filter(({ ok }) => ok).length;
      return [
        '',
        paint(row(['the agent', 'was stopped at', 'by', 'and wanted']), 'bold'),
        ...rows.map(({ scene, result, ok }) =>
          paint(
            row([scene.short, result.after, stopCodeOf(result) ?? 'nobody', scene.unprotected]),
            ...(ok ? [] : (['red'] as const)),
          ),
        ),
        '',
        paint(`${stopped} of ${rows.length} ended as they should.`, 'bold', stopped === rows.length ? 'green' : 'red'),
      ];
    },
  };
}

const widths = [30, 20, 18];

/** Describes the entries of a scene; repeated lines are printed once. */
function describeJournal(journal: readonly Entry[]): readonly (readonly [string, string])[] {
  const lines = new Map<string, { readonly line: readonly [string, string]; times: number }>();
  for (const line of journal.flatMap(describeEntry)) {
    const existing = lines.get(line.join());
    if (existing === undefined) lines.set(line.join(), { line, times: 1 });
    else existing.times++;
  }
  return [...lines.values()].map(({ line: [word, text], times }) => [
    word,
    times > 1 ? `${text} (${times} times)` : text,
  ]);
}

/** Describes an entry that is not a refusal, if it is worth a line. */
function describeEntry(entry: Entry): readonly (readonly [string, string])[] {
  switch (entry.type) {
    case 'breaker-opened':
      return [
        ['circuit opens', `after ${entry.counters.limit} failures, for ${(entry.untilMs - entry.atMs) / 1000} s`],
      ];
    case 'breaker-half-opened':
      return [['after that time', 'a call may try whether it works again']];
    case 'breaker-closed':
      return [['circuit closes', 'it works again']];
    case 'notice':
      return [['notice', entry.message]];
    case 'loop-suspected':
      return [['told', entry.message]];
    case 'delegation-returned':
      return entry.failed ? [['worker failed', `${entry.actual} of ${entry.limit}: ${entry.reason}`]] : [];
    case 'action-asked':
      return entry.decision.verdict.kind === 'ask'
        ? [['a question', entry.decision.verdict.reason ?? entry.action.name]]
        : [];
    case 'card-changed':
      return entry.card.state === 'expired' ? [['no answer', 'the question has expired']] : [];
    default:
      return [];
  }
}

/** Breaks a text into lines of a width at spaces. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
