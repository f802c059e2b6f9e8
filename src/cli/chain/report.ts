/** Describes chain runs: how each ended, the next command, and the exit code. */

import { isOwnerGone } from '../../chains/run/ownership.ts';
import type { RunState, StepState } from '../../chains/run/state/run-state.ts';
import { formatTimeSpan } from '../../core/quote.ts';
import { type Paint, type Style, sanitizeText, type TableCell } from '../../operator/format.ts';
import type { Clock } from '../../ports/clock.ts';
import { formatProcesses } from '../../supervisor/left-behind.ts';
import { formatTable } from '../terminal-table.ts';

/** Exit codes of `chain run` and `chain resume`; 2 is wrong usage or an invalid file. */
const exitCodesByStatus: Readonly<Record<RunState['status'], number>> = {
  done: 0,
  running: 1,
  failed: 1,
  aborted: 3,
  cancelled: 3,
  throttled: 4,
  'in-doubt': 5,
  waiting: 6,
};

export function exitCodeFor({ status, end }: RunState): number {
  return end?.code === 'store_away' ? 1 : exitCodesByStatus[status];
}

const styles: Readonly<Record<RunState['status'] | StepState['status'], Style>> = {
  done: 'green',
  running: 'cyan',
  pending: 'dim',
  skipped: 'dim',
  failed: 'red',
  aborted: 'red',
  cancelled: 'yellow',
  throttled: 'yellow',
  'in-doubt': 'yellow',
  waiting: 'yellow',
};

/** Options that the printed follow-up commands need. */
export interface CommandHints {
  readonly clock: Clock;
  /** The store option of commands about this run. */
  readonly storeOption: string;
  /** The options of `chain resume` for this run. */
  readonly resumeOptions: string;
}

/** A status as a cell of a table. */
export function makeStatusCell(status: RunState['status'] | StepState['status']): TableCell {
  return { text: status === 'in-doubt' ? 'in doubt' : status, style: styles[status] };
}

/** Whether a run counts as running although its process is gone: only `chain resume` continues it. */
export function isInterrupted({ status, owner }: Pick<RunState, 'status' | 'owner'>, atMs: number): boolean {
  return status === 'running' && (owner === undefined || isOwnerGone(owner, atMs));
}

export const interruptedCell: TableCell = { text: 'interrupted', style: 'yellow' };

/** Describes the state of a run in a sentence, with the next command. */
export function describeRunEnd(run: RunState, { clock, storeOption, resumeOptions }: CommandHints): string {
  const command = (words: string, rest = storeOption) => `switchgear ${words}${rest}`;
  const resume = command(`chain resume ${run.id}`, storeOption + resumeOptions);
  const message = sanitizeText(run.end?.message ?? '');
  const openStep = run.steps.find(({ status }) => status === 'in-doubt' || status === 'running')?.id ?? '';
  const resolveHint = `Say so: ${command(`chain resolve ${run.id} done|redo`)}`;
  const tookMs = (run.endedWallMs ?? clock.wallMs()) - run.startedWallMs;
  switch (run.status) {
    case 'done':
      return `Done in ${formatDuration(tookMs)}. What came out: ${command(`chain show ${run.id} --outputs`)}`;
    case 'failed':
      return `Failed: ${message}. What happened: ${command(`chain show ${run.id}`)}`;
    case 'aborted':
      if (run.end?.code === 'store_away') return `Stopped: ${message}. Go on: ${resume}`;
      return `Stopped: ${message}. What happened: ${command(`chain show ${run.id}`)}`;
    case 'cancelled':
      return `Cancelled: ${message}. What happened: ${command(`chain show ${run.id}`)}`;
    case 'throttled':
      return `Throttled: ${message}. ${describeRetryTime(run, clock)}: ${resume}`;
    case 'in-doubt':
      return `In doubt: it is unknown whether the step ${openStep} was done. ${resolveHint}`;
    case 'waiting':
      return `Waiting for a person to answer: ${command(`inbox show ${run.card ?? 'ID'}`)}, then ${resume}`;
    case 'running':
      if (isInterrupted(run, clock.nowMs())) return `Interrupted: its process is gone. Go on: ${resume}`;
      return `It is run by another process now. How far it is: ${command(`chain show ${run.id}`)}`;
  }
}

/** The wall time at which a throttled run may continue. */
function describeRetryTime({ end }: RunState, clock: Clock): string {
  if (end?.retryAtMs === undefined) return 'Try again later';
  const leftMs = Math.max(0, end.retryAtMs - clock.nowMs());
  return `Try again in ${formatTimeSpan(leftMs)}, at ${formatTime(clock.wallMs() + leftMs)}`;
}

/** `2026-11-15 12:30:05`, in local time. */
export function formatTime(wallMs: number): string {
  return new Date(wallMs).toLocaleString('sv-SE');
}

/** Formats a duration with a suitable precision. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  return ms < 100_000 ? `${(ms / 1000).toFixed(1)} s` : formatTimeSpan(ms);
}

/** Formats a run as a page: its parameters, its steps, and its state. */
export function formatRun(
  run: RunState,
  outputs: Readonly<Record<string, unknown>> | undefined,
  hints: CommandHints,
  paint: Paint,
) {
  const { chain, params, startedWallMs, steps, modelRules } = run;
  const paramTexts = Object.entries(params).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const withParams = paramTexts.length === 0 ? '' : sanitizeText(` with ${paramTexts.join(', ')}`);
  const rows = steps.map((step, at) => [
    { text: step.startedWallMs === undefined ? '' : formatTime(step.startedWallMs).slice(11) },
    { text: step.id },
    makeStatusCell(step.status),
    { text: chain.steps[at]?.ability ?? '' },
    { text: describeStep(step), style: 'dim' as const },
  ]);
  const head = [
    paint(`${sanitizeText(chain.name ?? chain.id)}, run ${run.id}`, 'bold'),
    `  started ${formatTime(startedWallMs)}${withParams}`,
    ...modelRules.map((line) => sanitizeText(`  rule of the model: ${line}`)),
    ...run.approved.map(({ rules, by }) => sanitizeText(`  ${by} approved for this run: ${rules.join(', ')}`)),
  ];
  const outputLines = Object.entries(outputs ?? {}).flatMap(([id, value]) => [
    paint(sanitizeText(`${id}:`), 'bold'),
    ...JSON.stringify(value, null, 2).split('\n').map(sanitizeText),
  ]);
  return [
    ...head,
    '',
    ...formatTable(rows, paint),
    '',
    ...(outputLines.length === 0 ? [] : [...outputLines, '']),
    describeRunEnd(run, hints),
  ];
}

function describeStep(step: StepState): string {
  const { status, attempts, startedWallMs, endedWallMs, outputBytes, reason, leftBehind = [] } = step;
  const find = (how: 'ended' | 'left') => leftBehind.filter((each) => each.how === how);
  const [ended, left] = [find('ended'), find('left')];
  const took =
    startedWallMs !== undefined && endedWallMs !== undefined && `${formatDuration(endedWallMs - startedWallMs)}`;
  return [
    took,
    attempts > 1 && `attempt ${attempts}`,
    status === 'done' && outputBytes !== undefined && `${outputBytes} bytes`,
    reason,
    ended.length > 0 && `ended what it left running: ${formatProcesses(ended)}`,
    left.length > 0 && `left running: ${formatProcesses(left)}`,
  ]
    .filter(Boolean)
    .join(', ');
}
