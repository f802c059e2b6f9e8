/** The timeline of one task: tracks of calls, marks of refusals and failures, spend by time, and every entry. */

import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { OperatorTask, RowMark, TimelineRow } from '../../../src/operator/board/answers.ts';
import { apiFile, errorText } from '../api.ts';
import { ChartFigure } from '../components/data-table.tsx';
import { EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { EventType } from '../components/event-type.tsx';
import { Meter } from '../components/meter.tsx';
import { TaskButtons, TaskState } from '../components/task-buttons.tsx';
import { Ago } from '../components/time.tsx';
import { MarkIcon, TrackChart } from '../components/track-chart.tsx';
import { useResource } from '../live/resource.ts';
import { timelineRowsMax, useTimeline } from '../live/timeline-store.ts';
import { useScroll } from '../live/viewport.ts';
import type { TasksAnswer } from '../logic/board-answers.ts';
import { eventWord } from '../logic/event-words.ts';
import { formatCents, formatNumber } from '../logic/format.ts';
import { encodePart, formatRoute } from '../logic/route.ts';
import { findVisible } from '../logic/task-tree.ts';
import { listUsages } from '../logic/task-words.ts';
import { hasCalls, makeBurn, makeTracks } from '../logic/timeline-model.ts';
import { announce, nowMs } from '../state.ts';
import type { ViewProps } from './view.ts';

interface TimelineProps {
  readonly id: string;
  readonly query: ViewProps['query'];
}

export function Timeline({ id, query }: TimelineProps) {
  const onlyTrouble = query.only === 'trouble';
  const tasks = useResource<TasksAnswer>(
    `/api/tasks?id=${encodePart(id)}`,
    ({ type, task }) => task === id && type.startsWith('task-'),
    2_000,
  );
  const timeline = useTimeline(id, onlyTrouble);
  const selected = useSignal<number | undefined>(query.entry === undefined ? undefined : Number(query.entry));
  const { rows, hasEarlier, isLoaded, error } = timeline.state.value;
  const answer = tasks.loaded.value.value;
  const task = answer?.tasks.find((each) => each.id === id);
  const entry = selected.value === undefined ? {} : { entry: String(selected.value) };
  return (
    <>
      <div class="view-tools">
        <a href={formatRoute('tasks')}>All tasks</a>
      </div>
      <TaskSummary id={id} task={task} answer={answer} onChange={tasks.reload} />
      <div class="view-tools">
        <label class="check">
          <input
            type="checkbox"
            checked={onlyTrouble}
            onChange={(event) => {
              location.hash = formatRoute('tasks', id, event.currentTarget.checked ? { only: 'trouble' } : {});
            }}
          />
          Only refused or failed
        </label>
        <a href={formatRoute('tasks', id, { ...(onlyTrouble && { only: 'trouble' }), ...entry })}>Permalink</a>
        <ExportButton id={id} />
      </div>
      {error !== undefined && <ErrorNote text={error} onRetry={timeline.reload} />}
      {!isLoaded ? (
        <LoadingNote />
      ) : rows.length === 0 ? (
        <NoEntries isFiltered={onlyTrouble} />
      ) : (
        <>
          <TimelineChart
            id={id}
            rows={rows}
            task={task}
            selected={selected.value}
            onSelect={(seq) => (selected.value = seq)}
          />
          {!hasCalls(rows) && !onlyTrouble && <LevelNote />}
          <h2>Entries</h2>
          {hasEarlier && (
            <button type="button" class="small" onClick={() => void timeline.loadEarlier()}>
              Load earlier entries
            </button>
          )}
          {rows.length >= timelineRowsMax && (
            <p class="hint">
              The newest {formatNumber(timelineRowsMax)} entries are shown; the export has all of them.
            </p>
          )}
          <EntryList id={id} rows={rows} selected={selected.value} onSelect={(seq) => (selected.value = seq)} />
        </>
      )}
    </>
  );
}

interface TaskSummaryProps {
  readonly id: string;
  readonly task: OperatorTask | undefined;
  readonly answer: TasksAnswer | undefined;
  readonly onChange: () => Promise<void>;
}

function TaskSummary({ id, task, answer, onChange }: TaskSummaryProps) {
  return (
    <section class="panel task-summary" aria-label="Task">
      <div class="task-summary-head">
        <h2 class="wrap">{id}</h2>
        {task !== undefined && answer !== undefined && (
          <>
            <TaskState task={task} pauses={answer.pauses} />
            <TaskButtons task={task} pauses={answer.pauses} onChange={onChange} />
          </>
        )}
      </div>
      {answer !== undefined && task === undefined && (
        <p class="dim">This task is over, or the journal does not have it any more.</p>
      )}
      {task !== undefined && (
        <>
          <p class="dim">
            {task.agent} · session {task.session} · started <Ago wallMs={task.startedWallMs} />
            {task.parent !== undefined && (
              <>
                {' '}
                · below <a href={formatRoute('tasks', task.parent)}>{task.parent}</a>
              </>
            )}
          </p>
          {task.halt !== undefined && <p class="error-text">{task.halt.message}</p>}
          <div class="meters">
            {listUsages(task).map((usage) => usage !== undefined && <Meter key={usage.name} {...usage} />)}
          </div>
        </>
      )}
    </section>
  );
}

/** Saves the journal of the task as a file. A plain link would not have the key of the page. */
function ExportButton({ id }: { readonly id: string }) {
  const isBusy = useSignal(false);
  const save = async () => {
    isBusy.value = true;
    try {
      const link = document.createElement('a');
      link.href = URL.createObjectURL(await apiFile(`/api/tasks/${encodePart(id)}/timeline?format=jsonl`));
      link.download = 'timeline.jsonl';
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), revokeAfterMs);
    } catch (error) {
      announce(errorText(error), 'bad');
    }
    isBusy.value = false;
  };
  return (
    <button type="button" class="small" disabled={isBusy.value} onClick={() => void save()}>
      Export as JSON lines
    </button>
  );
}

/** How long the browser may take to begin to save a file. */
const revokeAfterMs = 60_000;

function NoEntries({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <EmptyState icon="check" title="Nothing was refused and nothing failed." />;
  return (
    <EmptyState icon="note" title="The journal has no entries of this task.">
      <p>Entries are kept for 30 days, or until the store is full.</p>
    </EmptyState>
  );
}

function LevelNote() {
  return (
    <p class="hint">
      The journal of this task has refusals and changes only. With <code>journal.level = "all"</code> in the policy it
      has every call, and its cost.
    </p>
  );
}

interface TimelineChartProps {
  readonly id: string;
  readonly rows: readonly TimelineRow[];
  readonly task: OperatorTask | undefined;
  readonly selected: number | undefined;
  readonly onSelect: (seq: number) => void;
}

function TimelineChart({ id, rows, task, selected, onSelect }: TimelineChartProps) {
  const tracks = makeTracks(rows, id);
  const burn = makeBurn(rows, id);
  const isRunning = task?.state === 'running' || task?.state === 'paused';
  const fromMs = rows[0]!.wallMs;
  const endMs = rows.at(-1)!.wallMs;
  // A running task is drawn up to now, in steps, so that the chart is not drawn anew each second.
  const stepMs = 5_000;
  const now = useComputed(() => Math.floor(nowMs.value / stepMs) * stepMs).value;
  const toMs = Math.max(endMs, isRunning ? now : 0, fromMs + 1_000);
  const { maxSpendCents, maxToolCalls } = task?.used ?? {};
  const totals = new Map(burn.map((point) => [point.atMs, point]));
  return (
    <ChartFigure
      name="Timeline"
      columns={['Time', 'Lane', 'What happened', 'Mark', 'Task', 'Spent so far', 'Tokens so far']}
      rows={rows.map((row) => {
        const total = totals.get(row.wallMs);
        return [
          formatTime(row.wallMs),
          row.name === undefined ? row.track : `${row.track}: ${row.name}`,
          row.words === '' ? eventWord(row.type) : `${eventWord(row.type)}: ${row.words}`,
          row.mark ?? '',
          row.task,
          total === undefined ? '' : formatCents(total.cents),
          total === undefined ? '' : formatNumber(total.tokens),
        ];
      })}
    >
      <div class="legend">
        <span class="tone-good swatch">call</span>
        <span class="tone-bad swatch">failed call</span>
        <span class="tone-plain swatch is-running">still running</span>
        {legend.map(([mark, word]) => (
          <span key={mark} class={`legend-mark mark-${mark}`}>
            <MarkIcon mark={mark} />
            {word}
          </span>
        ))}
      </div>
      <TrackChart
        {...{ tracks, burn, fromMs, toMs, selected, onSelect }}
        limitCents={maxSpendCents}
        limitCalls={maxToolCalls}
      />
    </ChartFigure>
  );
}

const legend: readonly (readonly [RowMark, string])[] = [
  ['refused', 'refused'],
  ['failed', 'failed'],
  ['halted', 'halted'],
  ['notice', 'notice'],
];

const entryHeight = 36;

interface EntryListProps extends Pick<TimelineChartProps, 'id' | 'rows' | 'selected' | 'onSelect'> {}

/** Every entry, the newest first; only the rows in sight are drawn. */
function EntryList({ id, rows, selected, onSelect }: EntryListProps) {
  const frame = useRef<HTMLDivElement>(null);
  const { scrollTop, height } = useScroll(frame, entryHeight);
  const { from, to } = findVisible(rows.length, entryHeight, scrollTop, height);
  const rowAt = (at: number) => rows[rows.length - 1 - at]!;
  useEffect(() => {
    const at = selected === undefined ? -1 : rows.findIndex(({ seq }) => seq === selected);
    const top = (rows.length - 1 - at) * entryHeight;
    const list = frame.current;
    if (at < 0 || list === null || (top >= list.scrollTop && top < list.scrollTop + list.clientHeight - entryHeight))
      return;
    list.scrollTop = top - entryHeight * 2;
  }, [selected]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: Rows are drawn as they come into sight.
    <div role="table" aria-label="Entries" aria-rowcount={rows.length + 1} class="entries">
      {/* biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: As above. */}
      <div role="row" class="entry-head" aria-rowindex={1}>
        {['Time', 'Event', 'What happened', 'Task'].map((column) => (
          // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: As above.
          <span key={column} role="columnheader">
            {column}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: As above. */}
      <div
        role="rowgroup"
        class="entry-frame"
        ref={frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: A region that scrolls must be reachable by keyboard.
        tabIndex={0}
        aria-label={`${formatNumber(rows.length)} entries`}
      >
        <div role="presentation" class="entry-space" style={{ height: `${rows.length * entryHeight}px` }}>
          {Array.from({ length: to - from }, (_, step) => {
            const at = from + step;
            const row = rowAt(at);
            return <EntryLine key={row.seq} {...{ row, id, onSelect }} index={at} isSelected={row.seq === selected} />;
          })}
        </div>
      </div>
    </div>
  );
}

interface EntryLineProps extends Pick<EntryListProps, 'id' | 'onSelect'> {
  readonly row: TimelineRow;
  readonly index: number;
  readonly isSelected: boolean;
}

function EntryLine({ row, id, index, isSelected, onSelect }: EntryLineProps) {
  const { seq, wallMs, type, words, mark, task } = row;
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: As above; a click only marks the entry in the chart.
    <div
      role="row"
      aria-rowindex={index + 2}
      class={`entry-row${isSelected ? ' is-selected' : ''}`}
      style={{ top: `${index * entryHeight}px` }}
      onClick={() => onSelect(seq)}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: As above. */}
      <span role="cell" class="entry-time">
        {formatTime(wallMs)}
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: As above. */}
      <span role="cell" class={`entry-type${mark === undefined ? '' : ` mark-${mark}`}`}>
        {mark !== undefined && <MarkIcon mark={mark} />}
        <EventType type={type} />
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: As above. */}
      <span role="cell" class="entry-words" title={words}>
        {words}
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: As above. */}
      <span role="cell" class="entry-task">
        {task === id ? <span class="dim">this task</span> : <a href={formatRoute('tasks', task)}>{task}</a>}
      </span>
    </div>
  );
}

function formatTime(wallMs: number): string {
  const moment = new Date(wallMs);
  return `${moment.toTimeString().slice(0, 8)}.${String(moment.getMilliseconds()).padStart(3, '0')}`;
}
