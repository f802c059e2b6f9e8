/** The chart of a timeline: tracks with calls and marks, and below them the spend or the calls by time. */

import { useRef } from 'preact/hooks';
import type { RowMark } from '../../../src/operator/board/answers.ts';
import { useWidth } from '../live/viewport.ts';
import { formatCents, formatNumber } from '../logic/format.ts';
import { type BurnPoint, makeTicks, placeLabel, type Track } from '../logic/timeline-model.ts';

interface TrackChartProps {
  readonly tracks: readonly Track[];
  readonly burn: readonly BurnPoint[];
  readonly fromMs: number;
  readonly toMs: number;
  /** The limits of the task, for the lines of the burn chart. */
  readonly limitCents?: number | undefined;
  readonly limitCalls?: number | undefined;
  readonly selected: number | undefined;
  readonly onSelect: (seq: number) => void;
}

const trackHeight = 26;
const burnHeight = 84;
const padding = 6;

export function TrackChart(props: TrackChartProps) {
  const { tracks, burn, fromMs, toMs, selected, onSelect } = props;
  const frame = useRef<HTMLDivElement>(null);
  const width = Math.max(160, useWidth(frame, 600));
  const span = Math.max(1, toMs - fromMs);
  const xOf = (ms: number) =>
    padding + ((Math.min(Math.max(ms, fromMs), toMs) - fromMs) / span) * (width - 2 * padding);
  const ticks = makeTicks(fromMs, toMs, Math.max(2, Math.floor(width / 110)));
  const height = tracks.length * trackHeight;
  return (
    <div class="tracks">
      <div class="track-labels">
        {tracks.map(({ id, label, kind }) => (
          <div key={id} class={`track-label kind-${kind}`} title={label}>
            {label}
          </div>
        ))}
      </div>
      <div class="track-frame" ref={frame}>
        <svg width={width} height={height + 20} class="track-plot" aria-hidden="true">
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={xOf(tick)} x2={xOf(tick)} y1={0} y2={height} />
              <text class="tick" x={xOf(tick)} y={height + 14} text-anchor={anchorOf(xOf(tick), width)}>
                {formatTick(tick, span)}
              </text>
            </g>
          ))}
          {tracks.map((track, at) => (
            <TrackLine
              key={track.id}
              {...{ track, toMs, xOf, selected, onSelect }}
              top={at * trackHeight}
              width={width}
            />
          ))}
        </svg>
        <BurnLine {...props} points={burn} width={width} xOf={xOf} />
      </div>
    </div>
  );
}

interface TrackLineProps extends Pick<TrackChartProps, 'toMs' | 'selected' | 'onSelect'> {
  readonly track: Track;
  readonly top: number;
  readonly width: number;
  readonly xOf: (ms: number) => number;
}

function TrackLine({ track, top, width, toMs, xOf, selected, onSelect }: TrackLineProps) {
  return (
    <g class={`kind-${track.kind}`}>
      <line class="grid" x1={0} x2={width} y1={top + trackHeight - 0.5} y2={top + trackHeight - 0.5} />
      {track.spans.map(({ seq, fromMs, toMs: endMs, tone, title, isCall }) => {
        const x = xOf(fromMs);
        const isSelected = seq === selected;
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: The chart is hidden from screen readers; the table has it all.
          <rect
            key={seq}
            class={`span tone-${tone}${isCall ? ' is-call' : ''}${endMs === undefined ? ' is-running' : ''}${isSelected ? ' is-selected' : ''}`}
            x={x}
            y={top + 6}
            width={Math.max(3, xOf(endMs ?? toMs) - x)}
            height={trackHeight - 12}
            rx={2}
            onClick={() => onSelect(seq)}
          >
            <title>{title}</title>
          </rect>
        );
      })}
      {track.marks.map(({ seq, atMs, mark, title }) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: As above.
        <g
          key={seq}
          class={`mark mark-${mark}${seq === selected ? ' is-selected' : ''}`}
          transform={`translate(${xOf(atMs)} ${top + trackHeight / 2})`}
          onClick={() => onSelect(seq)}
        >
          <path d={markShapes[mark]} />
          <title>{title}</title>
        </g>
      ))}
    </g>
  );
}

/** Each mark has a shape of its own, so that the colour says nothing alone. */
const markShapes: Readonly<Record<RowMark, string>> = {
  refused: 'M-5-5 5 5M5-5-5 5',
  failed: 'M0-6 6 5H-6Z',
  halted: 'M-5-5H5V5H-5Z',
  notice: 'M0-4 4 0 0 4-4 0Z',
};

/** The shape of a mark beside a word. */
export function MarkIcon({ mark }: { readonly mark: RowMark }) {
  return (
    <svg class="mark-icon" viewBox="-8 -8 16 16" aria-hidden="true">
      <path d={markShapes[mark]} />
    </svg>
  );
}

interface BurnLineProps extends TrackChartProps {
  readonly points: readonly BurnPoint[];
  readonly width: number;
  readonly xOf: (ms: number) => number;
}

/** The spend by time; the calls if nothing was spent. */
function BurnLine({ points, width, xOf, toMs, limitCents, limitCalls }: BurnLineProps) {
  const last = points.at(-1);
  if (last === undefined) return null;
  const isMoney = last.cents > 0;
  const amountOf = ({ cents, calls }: BurnPoint) => (isMoney ? cents : calls);
  const limit = isMoney ? limitCents : limitCalls;
  const format = isMoney ? formatCents : formatNumber;
  const isLimitNear = limit !== undefined && amountOf(last) >= limit * 0.4;
  const most = Math.max(amountOf(last), isLimitNear ? limit : 0) * 1.1 || 1;
  const yOf = (value: number) => burnHeight - 4 - (value / most) * (burnHeight - 18);
  let path = `M${xOf(points[0]!.atMs)} ${yOf(0)}`;
  for (const point of points) path += `H${xOf(point.atMs)}V${yOf(amountOf(point))}`;
  path += `H${xOf(toMs)}`;
  return (
    <svg width={width} height={burnHeight} class="burn" aria-hidden="true">
      <line class="grid" x1={0} x2={width} y1={yOf(0)} y2={yOf(0)} />
      <path class="burn-area" d={`${path}V${yOf(0)}H${xOf(points[0]!.atMs)}Z`} />
      <path class="burn-line" d={path} />
      {isLimitNear && (
        <>
          <line class="burn-limit" x1={0} x2={width} y1={yOf(limit)} y2={yOf(limit)} />
          <text class="tick" x={padding} y={yOf(limit) - 3}>
            limit {format(limit)}
          </text>
        </>
      )}
      <text
        class="tick burn-now"
        x={width - padding}
        y={placeLabel(yOf(amountOf(last)), isLimitNear ? yOf(limit) : undefined)}
        text-anchor="end"
      >
        {isMoney ? `${format(last.cents)} spent` : `${format(last.calls)} calls`}
      </text>
    </svg>
  );
}

/** Labels at the edges stay inside. */
function anchorOf(x: number, width: number): 'start' | 'middle' | 'end' {
  return x < 30 ? 'start' : x > width - 30 ? 'end' : 'middle';
}

function formatTick(ms: number, span: number): string {
  const moment = new Date(ms);
  if (span > 2 * 86_400_000) return moment.toLocaleDateString('en-US', { month: 'short', day: 'numeric' });
  return moment.toTimeString().slice(0, span < 10 * 60_000 ? 8 : 5);
}
