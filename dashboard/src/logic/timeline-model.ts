/** The timeline of a task as tracks with calls and marks, and its spend and tokens by time. */

import type { RowMark, TimelineRow } from '../../../src/operator/board/answers.ts';
import { eventWord } from './event-words.ts';

/** A call, or the life of a task below. */
export interface TrackSpan {
  readonly seq: number;
  readonly fromMs: number;
  /** Absent while it runs. */
  readonly toMs?: number;
  readonly tone: 'good' | 'bad' | 'plain';
  readonly title: string;
  /** False for the life of a task. */
  readonly isCall: boolean;
}

/** A moment that a person should see. */
export interface TrackMark {
  readonly seq: number;
  readonly atMs: number;
  readonly mark: RowMark;
  readonly title: string;
}

/** One horizontal track of the chart. */
export interface Track {
  readonly id: string;
  readonly label: string;
  readonly kind: 'task' | 'model' | 'tool' | 'child';
  readonly spans: readonly TrackSpan[];
  readonly marks: readonly TrackMark[];
}

/** Tracks of tools and of tasks below; the rest share one track. */
const toolTracksMax = 8;
const childTracksMax = 12;

interface Draft {
  readonly label: string;
  readonly kind: Track['kind'];
  spans: TrackSpan[];
  marks: TrackMark[];
}

/** Groups rows into tracks: the task itself, its model, each tool, each task below. */
export function makeTracks(rows: readonly TimelineRow[], root: string): readonly Track[] {
  const drafts = new Map<string, Draft>();
  const begun = new Map<string, { readonly row: TimelineRow; readonly draft: Draft }>();
  const counts = { tool: 0, child: 0 };

  function draftOf(row: TimelineRow): Draft {
    const [wanted, label, kind] = nameTrack(row, root);
    let id = wanted;
    if (!drafts.has(id) && (kind === 'tool' || kind === 'child')) {
      const isFull = counts[kind] >= (kind === 'tool' ? toolTracksMax : childTracksMax);
      if (isFull) id = `${kind}:`;
      else counts[kind]++;
    }
    let draft = drafts.get(id);
    if (draft === undefined) {
      const others = kind === 'tool' ? 'other tools' : 'other tasks below';
      draft = { label: id === wanted ? label : others, kind, spans: [], marks: [] };
      drafts.set(id, draft);
    }
    return draft;
  }

  for (const row of rows) {
    const draft = draftOf(row);
    if (row.call?.phase === 'begin') begun.set(row.call.id, { row, draft });
    else if (row.call?.phase === 'end') {
      const begin = begun.get(row.call.id);
      begun.delete(row.call.id);
      (begin?.draft ?? draft).spans.push(endSpan(row, begin?.row));
    } else if (row.task !== root && row.type === 'task-started') begun.set(taskKey(row.task), { row, draft });
    else if (row.task !== root && row.type === 'task-ended') {
      const begin = begun.get(taskKey(row.task));
      begun.delete(taskKey(row.task));
      if (begin !== undefined) begin.draft.spans.push(endSpan(row, begin.row));
    } else if (row.type === 'usage-observed' || row.type === 'call-observed') draft.spans.push(endSpan(row, row));
    if (row.mark !== undefined)
      draft.marks.push({ seq: row.seq, atMs: row.wallMs, mark: row.mark, title: titleOf(row) });
  }
  for (const { row, draft } of begun.values())
    draft.spans.push({
      seq: row.seq,
      fromMs: row.wallMs,
      tone: 'plain',
      title: titleOf(row),
      isCall: row.call !== undefined,
    });
  const ranks = { task: 0, model: 1, tool: 2, child: 3 } as const;
  return [...drafts]
    .map(([id, { spans, ...draft }]) => ({ id, ...draft, spans: livesFirst(spans) }))
    .toSorted((one, other) => ranks[one.kind] - ranks[other.kind]);
}

/** Calls are drawn above the life of their task. */
function livesFirst(spans: readonly TrackSpan[]): readonly TrackSpan[] {
  return spans.toSorted((one, other) => Number(one.isCall) - Number(other.isCall));
}

const taskKey = (task: string) => `task ${task}`;

function nameTrack({ task, agent, track, name }: TimelineRow, root: string): readonly [string, string, Track['kind']] {
  if (task !== root) return [`child:${task}`, agent === '' ? task : `${agent} · ${task}`, 'child'];
  if (track === 'task') return ['task', 'task', 'task'];
  if (track === 'model') return ['model', 'model', 'model'];
  const label = name ?? '';
  return track === 'tool' ? [`tool:${label}`, label, 'tool'] : [`child:worker ${label}`, label, 'child'];
}

function endSpan(end: TimelineRow, begin: TimelineRow | undefined): TrackSpan {
  const fromMs = begin?.wallMs ?? end.wallMs - (end.call?.durationMs ?? 0);
  const tone = end.mark === undefined || end.mark === 'notice' ? 'good' : 'bad';
  return {
    seq: end.seq,
    fromMs: Math.min(fromMs, end.wallMs),
    toMs: end.wallMs,
    tone,
    title: titleOf(end),
    isCall: end.type !== 'task-ended',
  };
}

function titleOf({ words, type }: TimelineRow): string {
  return words === '' ? eventWord(type) : `${eventWord(type)}: ${words}`;
}

/** Spend, tokens and calls up to a moment. */
export interface BurnPoint {
  readonly atMs: number;
  readonly cents: number;
  readonly tokens: number;
  readonly calls: number;
}

const microsPerCent = 10_000;

/** Adds up what the rows cost; the tasks below count, their calls do not. A notice tells a total that is known. */
export function makeBurn(rows: readonly TimelineRow[], root: string): readonly BurnPoint[] {
  const points: BurnPoint[] = [];
  let micros = 0;
  let tokens = 0;
  let calls = 0;
  for (const { wallMs, micros: cost = 0, tokens: used = 0, counts, task, gauge } of rows) {
    if (cost === 0 && used === 0 && counts !== true && gauge === undefined) continue;
    micros += cost;
    tokens += used;
    if (counts === true && task === root) calls++;
    if (gauge !== undefined && task === root) {
      if (gauge.name === 'spend_cents') micros = Math.max(micros, gauge.actual * microsPerCent);
      if (gauge.name === 'tokens') tokens = Math.max(tokens, gauge.actual);
      if (gauge.name === 'tool_calls') calls = Math.max(calls, gauge.actual);
    }
    points.push({ atMs: wallMs, cents: micros / microsPerCent, tokens, calls });
  }
  return points;
}

/** Joins rows that were read earlier with new ones; the oldest are forgotten beyond the bound. */
export function joinRows(
  before: readonly TimelineRow[],
  added: readonly TimelineRow[],
  most: number,
): readonly TimelineRow[] {
  if (added.length === 0) return before;
  const last = before.at(-1)?.seq ?? 0;
  const first = before[0]?.seq ?? Number.POSITIVE_INFINITY;
  const earlier = added.filter(({ seq }) => seq < first);
  const later = before.length === 0 ? [] : added.filter(({ seq }) => seq > last);
  return [...earlier, ...before, ...later].slice(-most);
}

/** Whether the journal has single calls: at its level `refusals` it has only refusals and changes. */
export function hasCalls(rows: readonly TimelineRow[]): boolean {
  return rows.some(({ call, type }) => call !== undefined || type.endsWith('-observed'));
}

/** The height of a label of the chart. */
const labelHeight = 12;

/** The base line of a label: above its line, or below where the label would lie on the limit or leave the chart. */
export function placeLabel(lineY: number, limitY: number | undefined): number {
  const above = lineY - 5;
  const isOnLimit = limitY !== undefined && limitY > above - labelHeight - 2 && limitY < above + 4;
  return isOnLimit || above < labelHeight ? lineY + labelHeight + 2 : above;
}

/** Round times between two moments for an axis: at most `most` of them. */
export function makeTicks(fromMs: number, toMs: number, most: number): readonly number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
  const step = (steps.find((secs) => (toMs - fromMs) / (secs * 1_000) <= most) ?? 604_800) * 1_000;
  const ticks: number[] = [];
  for (let at = Math.ceil(fromMs / step) * step; at <= toMs && ticks.length < most + 1; at += step) ticks.push(at);
  return ticks;
}
