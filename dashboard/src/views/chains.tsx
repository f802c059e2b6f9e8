/** The view Chains: runs with their steps, what is in doubt, and how a person settles it. */

import { useSignal } from '@preact/signals';
import { apiPost, errorText } from '../api.ts';
import { Badge, type Tone } from '../components/badge.tsx';
import { DataTable } from '../components/data-table.tsx';
import { TextDialog } from '../components/dialog.tsx';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import type { IconName } from '../components/icon.tsx';
import { Ago } from '../components/time.tsx';
import { ViewerNote } from '../components/viewer-note.tsx';
import { useResource } from '../live/resource.ts';
import { checkArguments } from '../logic/card-answers.ts';
import { formatSpan } from '../logic/format.ts';
import { encodePart, formatRoute } from '../logic/route.ts';
import { announce, isOperator } from '../state.ts';
import type { View, ViewProps } from './view.ts';

interface RunSummary {
  readonly id: string;
  readonly status: string;
  readonly chain: string;
  readonly startedWallMs: number;
  readonly endedWallMs?: number;
  readonly end?: { readonly message: string };
  readonly card?: string;
  readonly passed: number;
  readonly steps: number;
}

interface RunStep {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly ability: string;
  readonly idempotent: boolean;
  readonly startedWallMs?: number;
  readonly endedWallMs?: number;
  readonly reason?: string;
  readonly leftBehind?: readonly unknown[];
}

interface RunView extends Omit<RunSummary, 'passed' | 'steps'> {
  readonly origin?: string;
  readonly steps: readonly RunStep[];
  readonly worker?: { readonly pid: number; readonly machine: string };
}

const looks: Readonly<Record<string, readonly [Tone, IconName]>> = {
  running: ['info', 'dot'],
  waiting: ['warn', 'question'],
  'in-doubt': ['bad', 'alert'],
  done: ['good', 'check'],
  failed: ['bad', 'cross'],
  aborted: ['bad', 'stop'],
  throttled: ['warn', 'clock'],
  cancelled: ['plain', 'cross'],
  pending: ['plain', 'clock'],
  skipped: ['plain', 'chevron'],
};

function Status({ status }: { readonly status: string }) {
  const [tone, icon] = looks[status] ?? ['plain', 'dot'];
  return <Badge tone={tone} icon={icon} text={status.replace('-', ' ')} />;
}

const concernsRuns = ({ type }: { readonly type: string }) => type.startsWith('run-') || type.startsWith('step-');

function Chains({ param }: ViewProps) {
  return param === undefined ? <RunList /> : <RunDetails key={param} id={param} />;
}

function RunList() {
  const all = useSignal(false);
  const { loaded, reload } = useResource<{ runs: readonly RunSummary[] }>(
    `/api/chains?all=${all.value}`,
    concernsRuns,
    5_000,
  );
  const { value, error } = loaded.value;
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      <div class="view-tools">
        <label class="check">
          <input type="checkbox" checked={all.value} onChange={(event) => (all.value = event.currentTarget.checked)} />
          Also runs that are over
        </label>
      </div>
      {value === undefined ? (
        <LoadingNote />
      ) : value.runs.length === 0 ? (
        <EmptyState icon="note" title={all.value ? 'No runs of chains yet.' : 'No run of a chain is under way.'}>
          <p>A chain is a file with steps and rules. Try:</p>
          <CommandLine text="switchgear chain run FILE" />
        </EmptyState>
      ) : (
        <div class="stacked">
          <DataTable
            name="Chain runs"
            columns={['Run', 'Chain', 'Status', 'Steps', 'Started', 'Why it ended or waits']}
          >
            {value.runs.map(({ id, chain, status, passed, steps, startedWallMs, end, card }) => (
              <tr key={id}>
                <th scope="row">
                  <a href={formatRoute('chains', id)}>{id}</a>
                </th>
                <td data-name="Chain">{chain}</td>
                <td data-name="Status">
                  <Status status={status} />
                </td>
                <td data-name="Steps">
                  {passed} of {steps}
                </td>
                <td data-name="Started">
                  <Ago wallMs={startedWallMs} />
                </td>
                <td class="wrap is-full">
                  {end?.message}
                  {status === 'waiting' && card !== undefined && (
                    <a href={formatRoute('inbox', card)}>A person is asked</a>
                  )}
                  {status === 'in-doubt' && <a href={formatRoute('chains', id)}>Settle the step in doubt</a>}
                </td>
              </tr>
            ))}
          </DataTable>
        </div>
      )}
    </>
  );
}

function RunDetails({ id }: { readonly id: string }) {
  const path = `/api/chains/${encodePart(id)}`;
  const { loaded, reload } = useResource<{ run: RunView }>(path, concernsRuns, 5_000);
  const isBusy = useSignal(false);
  const { value, error } = loaded.value;
  const order = async (name: 'cancel' | 'resolve', body: unknown) => {
    isBusy.value = true;
    try {
      const { run } = await apiPost<{ run: RunView }>(`${path}/${name}`, body);
      announce(`The run of ${run.chain} is now ${run.status.replace('-', ' ')}.`, 'good');
    } catch (thrown) {
      announce(errorText(thrown), 'bad');
    }
    await reload();
    isBusy.value = false;
  };
  if (value === undefined) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reload} />;
  const { run } = value;
  const isOver = run.endedWallMs !== undefined && run.status !== 'in-doubt';
  return (
    <>
      <div class="view-tools">
        <a href={formatRoute('chains')}>All runs</a>
      </div>
      <ViewerNote verb="settle or cancel runs" />
      <section class="panel task-summary" aria-label="Run">
        <div class="task-summary-head">
          <h2 class="wrap">
            {run.chain} <span class="dim">{run.id}</span>
          </h2>
          <Status status={run.status} />
          {isOperator.value && !isOver && (
            <button type="button" class="small danger" disabled={isBusy.value} onClick={() => void order('cancel', {})}>
              Cancel the run
            </button>
          )}
        </div>
        <p class="dim">
          started <Ago wallMs={run.startedWallMs} />
          {run.origin !== undefined && ` · ${run.origin}`}
          {run.worker !== undefined && ` · process ${run.worker.pid} on ${run.worker.machine}`}
        </p>
        {run.end !== undefined && <p>{run.end.message}</p>}
        {run.card !== undefined && run.status === 'waiting' && (
          <p>
            <a href={formatRoute('inbox', run.card)}>A person is asked: answer the question in the inbox</a>
          </p>
        )}
        {run.status === 'in-doubt' && (
          <Doubt run={run} isBusy={isBusy.value} onResolve={(resolution) => void order('resolve', resolution)} />
        )}
      </section>
      <StepTable steps={run.steps} />
    </>
  );
}

interface DoubtProps {
  readonly run: RunView;
  readonly isBusy: boolean;
  readonly onResolve: (resolution: Resolution) => void;
}

/** How a step in doubt is settled: it was done, with an output if later steps need one, or it runs again. */
interface Resolution {
  readonly how: 'done' | 'redo';
  readonly output?: unknown;
}

function Doubt({ run, isBusy, onResolve }: DoubtProps) {
  const step = run.steps.find(({ status }) => status === 'in-doubt');
  const isAsked = useSignal(false);
  return (
    <div class="doubt">
      <p>
        <strong>{step === undefined ? 'A step is in doubt.' : `The step ${step.id} is in doubt.`}</strong> Its process
        ended while
        {step === undefined ? ' it' : ` ${step.ability}`} ran, so nobody knows whether it took effect. Look at its
        target, then settle it.
      </p>
      {isOperator.value && (
        <div class="row-actions">
          <button type="button" disabled={isBusy} onClick={() => onResolve({ how: 'done' })}>
            It was done: go on after it
          </button>
          <button type="button" disabled={isBusy} onClick={() => (isAsked.value = true)}>
            It was done, with an output…
          </button>
          <button type="button" disabled={isBusy} onClick={() => onResolve({ how: 'redo' })}>
            Run it again
          </button>
        </div>
      )}
      <p class="hint">Afterwards:</p>
      <CommandLine text={`switchgear chain resume ${run.id}`} />
      {isAsked.value && (
        <TextDialog
          title="It was done, with an output"
          {...(step !== undefined && { subject: `The step ${step.id} of ${run.chain}` })}
          label="Output of the step"
          hint="As JSON: a text needs quotation marks. Later steps read it."
          verb="It was done"
          isRequired
          isCode
          check={checkArguments}
          onClose={() => (isAsked.value = false)}
          onSubmit={(text) => {
            isAsked.value = false;
            onResolve({ how: 'done', output: JSON.parse(text) });
          }}
        />
      )}
    </div>
  );
}

function StepTable({ steps }: { readonly steps: readonly RunStep[] }) {
  return (
    <div class="stacked">
      <DataTable name="Steps" columns={['Step', 'Ability', 'Status', 'Attempts', 'Took', 'Note']}>
        {steps.map(({ id, ability, status, attempts, startedWallMs, endedWallMs, reason, leftBehind }) => (
          <tr key={id}>
            <th scope="row">{id}</th>
            <td data-name="Ability">
              <code>{ability}</code>
            </td>
            <td data-name="Status">
              <Status status={status} />
            </td>
            <td data-name="Attempts">{attempts}</td>
            <td data-name="Took">
              {startedWallMs !== undefined && endedWallMs !== undefined && formatSpan(endedWallMs - startedWallMs)}
            </td>
            <td class="wrap is-full">
              {reason}
              {leftBehind !== undefined && leftBehind.length > 0 && ` ${leftBehind.length} programs were left running.`}
            </td>
          </tr>
        ))}
      </DataTable>
    </div>
  );
}

export const chainsView: View = { id: 'chains', title: 'Chains', Component: Chains };
