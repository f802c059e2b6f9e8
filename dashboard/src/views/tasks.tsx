/** The view Tasks: the tree of live tasks with their usage against their limits, and the timeline of one task. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { Icon } from '../components/icon.tsx';
import { Meter } from '../components/meter.tsx';
import { MiddleCut } from '../components/middle-cut.tsx';
import { TaskButtons, TaskState } from '../components/task-buttons.tsx';
import { Since } from '../components/time.tsx';
import { ViewerNote } from '../components/viewer-note.tsx';
import { useResource } from '../live/resource.ts';
import { useNarrow, useScroll } from '../live/viewport.ts';
import type { TasksAnswer } from '../logic/board-answers.ts';
import { formatNumber } from '../logic/format.ts';
import { formatRoute } from '../logic/route.ts';
import { findVisible, listTaskRows, moveInTree, type TaskRow } from '../logic/task-tree.ts';
import { listUsages } from '../logic/task-words.ts';
import { goTo, isOperator } from '../state.ts';
import { Timeline } from './timeline.tsx';
import type { View, ViewProps } from './view.ts';

/** Usage changes without an entry of the journal. */
const everyMs = 2_000;

const columns = ['Task', 'State', 'Calls', 'Spend', 'Tokens', 'Duration', 'Idle'];

/** Heights of a row, wide and narrow; the style sheet has the same. */
const rowHeights = { wide: 52, narrow: 252 } as const;
/** How long after a key the current row takes the focus. */
const focusMs = 1_000;

function Tasks({ param, query }: ViewProps) {
  return param === undefined ? <TaskTree /> : <Timeline key={param} id={param} query={query} />;
}

function TaskTree() {
  const { loaded, reload } = useResource<TasksAnswer>('/api/tasks', ({ type }) => type.startsWith('task-'), everyMs);
  const text = useSignal('');
  const onlyLive = useSignal(false);
  const collapsed = useSignal<ReadonlySet<string>>(new Set());
  const { value, error } = loaded.value;
  if (value === undefined) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reload} />;
  const { tasks, total } = value;
  const rows = listTaskRows(tasks, collapsed.value, { text: text.value, onlyLive: onlyLive.value });
  const toggle = (id: string) => {
    const next = new Set(collapsed.peek());
    if (!next.delete(id)) next.add(id);
    collapsed.value = next;
  };
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      <ViewerNote verb="halt or pause tasks" />
      {tasks.length === 0 ? (
        <EmptyState icon="dot" title="No live tasks.">
          <p>A task appears while an agent works. Try:</p>
          <CommandLine text="switchgear run -- claude -p 'tidy the readme'" />
        </EmptyState>
      ) : (
        <>
          <div class="view-tools">
            <input
              type="search"
              aria-label="Filter tasks"
              placeholder="Filter by task or agent"
              value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)}
            />
            <label class="check">
              <input
                type="checkbox"
                checked={onlyLive.value}
                onChange={(event) => (onlyLive.value = event.currentTarget.checked)}
              />
              Only running or paused
            </label>
            <span class="dim">
              {formatNumber(rows.length)} of {formatNumber(total)} tasks
            </span>
          </div>
          {rows.length === 0 ? (
            <EmptyState icon="dot" title="No task fits the filter." />
          ) : (
            <TreeGrid rows={rows} answer={value} onToggle={toggle} onChange={reload} />
          )}
        </>
      )}
    </>
  );
}

interface TreeGridProps {
  readonly rows: readonly TaskRow[];
  readonly answer: TasksAnswer;
  readonly onToggle: (id: string) => void;
  readonly onChange: () => Promise<void>;
}

function TreeGrid({ rows, answer, onToggle, onChange }: TreeGridProps) {
  const frame = useRef<HTMLDivElement>(null);
  const rowHeight = useNarrow() ? rowHeights.narrow : rowHeights.wide;
  const { scrollTop, height } = useScroll(frame, rowHeight);
  /** The row that a key or click has chosen; the first one until then, also when rows come above it. */
  const current = useSignal<string | undefined>(undefined);
  /** Until when the current row takes the focus: a row that moves in the document loses it. */
  const focusUntilMs = useRef(0);
  const index = Math.max(
    0,
    rows.findIndex(({ task }) => task.id === current.value),
  );
  const { from, to } = findVisible(rows.length, rowHeight, scrollTop, height);
  // The row with the focus stays drawn, so that scrolling does not lose it.
  const drawn = rows.slice(from, to).map((row, at) => [row, from + at] as const);
  if (index < from) drawn.unshift([rows[index]!, index]);
  else if (index >= to) drawn.push([rows[index]!, index]);
  useEffect(() => {
    if (Date.now() > focusUntilMs.current) return;
    const line = frame.current?.querySelector<HTMLElement>(`[aria-rowindex="${index + 2}"]`);
    if (line !== document.activeElement) line?.focus({ preventScroll: true });
  });
  const hasActions = isOperator.value && rows.some(({ task }) => task.state !== 'halted');
  const onKeyDown = (event: KeyboardEvent) => {
    const move = moveInTree(rows, index, event.key);
    if (move === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { task } = rows[index]!;
    if (move.kind === 'open') goTo('tasks', task.id);
    else if (move.kind !== 'focus') onToggle(task.id);
    else {
      focusUntilMs.current = Date.now() + focusMs;
      current.value = rows[move.index]!.task.id;
      reveal(frame.current, move.index * rowHeight, rowHeight);
    }
  };
  const press = useRef(onKeyDown);
  press.current = onKeyDown;
  // Keys that scroll a page scroll the list, which is all that can scroll here.
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const { activeElement: at } = document;
      const isNowhere = at === null || at === document.body || at.id === 'main';
      if (isNowhere && scrollKeys.has(event.key)) press.current(event);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
  return (
    <div
      role="treegrid"
      aria-label="Tasks"
      aria-rowcount={rows.length + 1}
      class={`task-grid${hasActions ? ' has-actions' : ''}`}
      onKeyDown={(event) => {
        if (event.target instanceof HTMLElement && event.target.role === 'row') onKeyDown(event);
      }}
    >
      {/* biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useSemanticElements: The heads are read, not used. */}
      <div role="row" aria-rowindex={1} class="task-head">
        {[...columns, ...(hasActions ? ['Actions'] : [])].map((column) => (
          // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useSemanticElements: As above.
          <span key={column} role="columnheader">
            {column}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: As above. */}
      <div role="rowgroup" class="task-frame" ref={frame} style={{ '--task-space': `${rows.length * rowHeight}px` }}>
        <div role="presentation" class="task-space" style={{ height: `${rows.length * rowHeight}px` }}>
          {drawn.map(([row, at]) => (
            <TaskRowLine
              key={row.task.id}
              row={row}
              top={at * rowHeight}
              index={at}
              isCurrent={at === index}
              hasActions={hasActions}
              answer={answer}
              onFocus={() => (current.value = row.task.id)}
              onToggle={onToggle}
              onChange={onChange}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

/** The keys that scroll a page. */
const scrollKeys = new Set(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End']);

/** Scrolls a row into sight. */
function reveal(frame: HTMLElement | null, top: number, rowHeight: number): void {
  if (frame === null) return;
  if (top < frame.scrollTop) frame.scrollTop = top;
  else if (top + rowHeight > frame.scrollTop + frame.clientHeight)
    frame.scrollTop = top + rowHeight - frame.clientHeight;
}

interface TaskRowLineProps extends Pick<TreeGridProps, 'answer' | 'onToggle' | 'onChange'> {
  readonly row: TaskRow;
  readonly top: number;
  readonly index: number;
  readonly isCurrent: boolean;
  readonly hasActions: boolean;
  readonly onFocus: () => void;
}

function TaskRowLine(props: TaskRowLineProps) {
  const { row, top, index, isCurrent, hasActions, answer, onFocus, onToggle, onChange } = props;
  const { task, level, hasChildren, isExpanded, position, siblings } = row;
  const tabIndex = isCurrent ? 0 : -1;
  return (
    // biome-ignore lint/a11y/useSemanticElements: As above.
    <div
      role="row"
      class="task-row"
      style={{ top: `${top}px` }}
      tabIndex={tabIndex}
      aria-rowindex={index + 2}
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      {...(hasChildren && { 'aria-expanded': isExpanded })}
      onFocus={onFocus}
    >
      {/* biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useSemanticElements: The row has the focus. */}
      <span role="gridcell" class="task-name" style={{ paddingInlineStart: `${(level - 1) * 16}px` }}>
        {hasChildren ? (
          <button
            type="button"
            class={`quiet icon-only twist${isExpanded ? ' is-open' : ''}`}
            tabIndex={-1}
            aria-label={isExpanded ? `Fold ${task.id}` : `Unfold ${task.id}`}
            onClick={() => onToggle(task.id)}
          >
            <Icon name="chevron" />
          </button>
        ) : (
          <span class="twist" />
        )}
        <span class="task-words">
          <a href={formatRoute('tasks', task.id)} tabIndex={tabIndex} title={task.id} aria-label={task.id}>
            <MiddleCut text={task.id} />
          </a>
          <span class="dim note" title={task.halt?.message}>
            {task.agent} ·{' '}
            {task.halt === undefined ? (
              <>
                <Since wallMs={task.startedWallMs} /> old
              </>
            ) : (
              task.halt.message
            )}
          </span>
        </span>
      </span>
      {/* biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useSemanticElements: As above. */}
      <span role="gridcell" class="task-state">
        <TaskState task={task} pauses={answer.pauses} />
      </span>
      {listUsages(task).map((usage, at) => (
        // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useSemanticElements: As above.
        <span key={columns[at + 2]} role="gridcell" class="task-usage" data-name={columns[at + 2]}>
          {usage === undefined ? (
            <span class="dim" title="Not known: the process of the task has not told it">
              –
            </span>
          ) : (
            <Meter {...usage} isBare={true} isShort={true} />
          )}
        </span>
      ))}
      {hasActions && (
        // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useSemanticElements: As above.
        <span role="gridcell" class="task-actions">
          <TaskButtons task={task} pauses={answer.pauses} onChange={onChange} isReachable={isCurrent} />
        </span>
      )}
    </div>
  );
}

export const tasksView: View = { id: 'tasks', title: 'Tasks', Component: Tasks };
