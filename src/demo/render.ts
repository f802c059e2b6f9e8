/** The demo on a terminal: eighty columns, colours only where they are wanted. */

import { styleText } from 'node:util';
import type { Entry } from '../core/event.ts';
import type { WatchedEnd } from './run-scene.ts';
import { codeOf, type Mark, type Played, type Scene } from './scene.ts';

const columns = 80;
const indent = '   ';
const nameWidth = 17;

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export interface Page {
  opening(): readonly string[];
  heading(text: string, more: string): readonly string[];
  scene(number: number, scene: Scene, played: Played, faults: readonly string[]): readonly string[];
  closing(rows: readonly { readonly scene: Scene; readonly played: Played; readonly ok: boolean }[]): readonly string[];
}

const signs: Readonly<Record<Mark, { readonly sign: string; readonly style: Style }>> = {
  ran: { sign: '✓', style: 'green' },
  failed: { sign: '✗', style: 'yellow' },
  refused: { sign: '⊘', style: 'red' },
  halted: { sign: '■', style: 'red' },
  said: { sign: '·', style: 'cyan' },
};

const legend: readonly (readonly [Mark, string])[] = [
  ['ran', 'ran'],
  ['failed', 'ran and failed'],
  ['refused', 'refused'],
  ['halted', 'stopped'],
  ['said', 'said something'],
];

export function createPage(coloured: boolean): Page {
  const paint = (text: string, ...styles: Style[]) =>
    coloured ? styleText(styles, text, { validateStream: false }) : text;
  const sign = (mark: Mark) => paint(signs[mark].sign, signs[mark].style);

  function strip({ name, marks }: Played): string {
    const head = `${indent}${name.padEnd(nameWidth)}`;
    if (head.length + marks.length <= columns) return head + marks.map(sign).join('');
    const ran = marks.filter((mark) => mark === 'ran').length;
    const rest = marks.filter((mark) => mark !== 'ran');
    return `${head}${sign('ran')} ${ran.toLocaleString('en')} times ${rest.map(sign).join('')}`.trimEnd();
  }

  /** A word in the margin and text beside it. */
  function aside(word: string, text: string, ...styles: Style[]): string[] {
    return wrap(text, columns - indent.length - nameWidth).map((line, at) => {
      return `${indent}${paint((at === 0 ? word : '').padEnd(nameWidth), ...styles)}${paint(line, ...styles)}`;
    });
  }

  const indented = (line: string) => paint(`${indent}${line}`, 'dim');

  /** What a person sees who runs it: the sentence, the counters, the evidence, the exit code. */
  function toldByRun({ code, told: [first = '', ...more], exitCode, answer }: WatchedEnd): string[] {
    if (code === undefined) return aside('left alone', answer ?? 'it ended by itself', 'green');
    return [
      ...aside('STOPPED', first.replace(/^switchgear: /, ''), 'bold', 'red'),
      ...more.flatMap((line) => aside('', line.trim())),
      ...aside('', `exit code ${exitCode}`, 'dim'),
    ];
  }

  return {
    opening: () => [
      paint('Agents that spiral, each stopped by its own kind of count, and two that do well.', 'bold'),
      'No network, no key, no model: they follow scripts. The limits are the defaults.',
      '',
      legend.map(([mark, word]) => `${sign(mark)} ${word}`).join('  '),
    ],
    heading: (text, more) => ['', paint(text, 'bold', 'cyan'), ...wrap(more, columns)],
    scene: (number, scene, played, faults) => {
      const { refusal, journal, watched } = played;
      const stop = refusal?.kind === 'halt' || refusal?.code === 'storm' ? 'STOPPED' : 'REFUSED';
      return [
        '',
        paint(`${String(number).padEnd(indent.length)}${scene.title}`, 'bold'),
        ...(watched === undefined ? [] : wrap(`$ ${watched.command}`, columns - indent.length).map(indented)),
        strip(played),
        ...(watched === undefined ? [] : toldByRun(watched)),
        ...told(journal).flatMap(([word, text]) => aside(word, text, 'dim')),
        ...(refusal === undefined
          ? []
          : [
              ...aside(stop, refusal.explanation, 'bold', 'red'),
              ...aside('the model reads', `${refusal.message.replace(/\.?$/, '.')} ${refusal.remediation}`),
            ]),
        ...faults.flatMap((fault) => aside('NOT AS IT SHOULD', fault, 'bold', 'yellow')),
      ];
    },
    closing: (rows) => {
      const row = (cells: readonly string[]) =>
        cells.map((cell, at) => cell.padEnd(at < cells.length - 1 ? widths[at]! : 0)).join('');
      const stopped = rows.filter(({ ok }) => ok).length;
      return [
        '',
        paint(row(['the agent', 'was stopped at', 'by', 'and wanted']), 'bold'),
        ...rows.map(({ scene, played, ok }) =>
          paint(
            row([scene.short, played.after, codeOf(played) ?? 'nobody', scene.wanted]),
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

/** The events of a scene in words; what happened several times is told once. */
function told(journal: readonly Entry[]): readonly (readonly [string, string])[] {
  const lines = new Map<string, { readonly line: readonly [string, string]; times: number }>();
  for (const line of journal.flatMap(happened)) {
    const known = lines.get(line.join());
    if (known === undefined) lines.set(line.join(), { line, times: 1 });
    else known.times++;
  }
  return [...lines.values()].map(({ line: [word, text], times }) => [
    word,
    times > 1 ? `${text} (${times} times)` : text,
  ]);
}

/** What is worth a line of its own: what the gear did beside refusing. */
function happened(entry: Entry): readonly (readonly [string, string])[] {
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

/** Text in lines of a width, broken at spaces. */
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
