/** The rows of a timeline: the newest ones first, earlier ones on request, later ones as they come. */

import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { TimelineRow, TimelineRows } from '../../../src/operator/board/answers.ts';
import { apiGet, errorText } from '../api.ts';
import { plainSentence } from '../logic/format.ts';
import { encodePart } from '../logic/route.ts';
import { joinRows } from '../logic/timeline-model.ts';
import { onEntries, onResync } from './stream.ts';

/** The rows that were read so far. */
export interface TimelineState {
  readonly rows: readonly TimelineRow[];
  readonly hasEarlier: boolean;
  readonly isLoaded: boolean;
  readonly error?: string;
}

/** A timeline with the function that reads earlier rows. */
export interface TimelineSource {
  readonly state: ReadonlySignal<TimelineState>;
  readonly loadEarlier: () => Promise<void>;
  readonly reload: () => Promise<void>;
}

/** Rows that the page keeps; the export has all of them. */
export const timelineRowsMax = 10_000;
const restMs = 250;

/** Reads the timeline of a task for a component. */
export function useTimeline(id: string, onlyTrouble: boolean): TimelineSource {
  const source = useMemo(() => createTimeline(id, onlyTrouble), [id, onlyTrouble]);
  useEffect(() => {
    void source.reload();
    const stops = [onEntries(source.loadLaterSoon), onResync(() => void source.reload())];
    return () => {
      for (const stop of stops) stop();
      source.stop();
    };
  }, [source]);
  return source;
}

function createTimeline(id: string, onlyTrouble: boolean) {
  const state = signal<TimelineState>({ rows: [], hasEarlier: false, isLoaded: false });
  let first = 0;
  let last = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReading = false;

  const read = (query: string) =>
    apiGet<TimelineRows>(`/api/tasks/${encodePart(id)}/rows?trouble=${onlyTrouble}${query}`).then((page) => ({
      ...page,
      rows: page.rows.map((row) => ({ ...row, words: plainSentence(row.words) })),
    }));

  async function attempt(work: () => Promise<void>): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      await work();
    } catch (error) {
      state.value = { ...state.peek(), isLoaded: true, error: errorText(error) };
    }
    isReading = false;
  }

  const reload = () =>
    attempt(async () => {
      const { rows, hasEarlier, ...range } = await read('');
      ({ first, last } = range);
      state.value = { rows, hasEarlier, isLoaded: true };
    });

  const loadEarlier = () =>
    attempt(async () => {
      const { rows, hasEarlier, first: begin } = await read(`&before=${first}`);
      first = begin;
      const joined = joinRows(state.peek().rows, rows, timelineRowsMax);
      state.value = { rows: joined, hasEarlier: hasEarlier && joined.length < timelineRowsMax, isLoaded: true };
    });

  const loadLater = () =>
    attempt(async () => {
      timer = undefined;
      if (!state.peek().isLoaded) return;
      const { rows, last: end } = await read(`&after=${last}`);
      last = Math.max(last, end);
      const before = state.peek();
      const joined = before.rows.length === 0 ? rows : joinRows(before.rows, rows, timelineRowsMax);
      state.value = { rows: joined, hasEarlier: before.hasEarlier, isLoaded: true };
    });

  return {
    state,
    reload,
    loadEarlier,
    loadLaterSoon: () => {
      timer ??= setTimeout(() => void loadLater(), restMs);
    },
    stop: () => clearTimeout(timer),
  };
}
