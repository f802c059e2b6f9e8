/** The view Breakers: their states, failures and refusals of the last minutes, and the orders of a person. */

import { useSignal } from '@preact/signals';
import type { Entry } from '../../../src/core/event.ts';
import type { ActiveBreaker, BreakerEntryRow } from '../../../src/operator/board/answers.ts';
import { apiPost, errorText } from '../api.ts';
import { Badge } from '../components/badge.tsx';
import { ChartFigure, DataTable } from '../components/data-table.tsx';
import { TextDialog } from '../components/dialog.tsx';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { EventType } from '../components/event-type.tsx';
import { SparkLine } from '../components/spark-line.tsx';
import { Ago, Until } from '../components/time.tsx';
import { ViewerNote } from '../components/viewer-note.tsx';
import { useResource } from '../live/resource.ts';
import {
  describeBreaker,
  describeEffect,
  describeOrder,
  describeScope,
  folderOf,
  stateLooks,
  sumOf,
} from '../logic/breaker-words.ts';
import { formatCount, formatNumber, formatSpan } from '../logic/format.ts';
import { encodePart, formatRoute } from '../logic/route.ts';
import { announce, isOperator } from '../state.ts';
import type { View, ViewProps } from './view.ts';

interface BreakersAnswer {
  readonly breakers: readonly ActiveBreaker[];
  readonly total: number;
  readonly atMs: number;
}

/** How often the view is read without an entry: a breaker becomes half-open by time alone. */
const everyMs = 2_000;

const columns = ['Breaker', 'State', 'Failures (10 min)', 'Refusals (10 min)', 'Next probe', 'Last error', 'Trips'];

const concernsBreakers = ({ type }: Entry) =>
  type.startsWith('breaker-') || type === 'failure-counted' || type === 'action-refused' || type === 'order-given';

function Breakers({ param }: ViewProps) {
  const path = param === undefined ? '/api/breakers' : `/api/breakers?name=${encodePart(param)}`;
  const { loaded, reload } = useResource<BreakersAnswer>(path, concernsBreakers, everyMs);
  const onlyNotClosed = useSignal(false);
  const { value, error } = loaded.value;
  if (value === undefined) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reload} />;
  const shown = onlyNotClosed.value ? value.breakers.filter(({ state }) => state !== 'CLOSED') : value.breakers;
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      <ViewerNote verb="reset or hold breakers" />
      <div class="view-tools">
        {param !== undefined && <a href={formatRoute('breakers')}>All breakers</a>}
        <label class="check">
          <input
            type="checkbox"
            checked={onlyNotClosed.value}
            onChange={(event) => {
              onlyNotClosed.value = event.currentTarget.checked;
            }}
          />
          Only not closed
        </label>
        <span class="dim">{describeCounts(value)}</span>
      </div>
      {shown.length === 0 ? (
        <NoBreakers isFiltered={value.breakers.length > 0} />
      ) : (
        <div class="stacked">
          <DataTable name="Breakers" columns={isOperator.value ? [...columns, 'Actions'] : columns}>
            {shown.map((breaker) => (
              <BreakerRow key={breaker.key} breaker={breaker} onChange={reload} />
            ))}
          </DataTable>
        </div>
      )}
      {param !== undefined && <BreakerDetails name={param} breakers={value.breakers} />}
    </>
  );
}

function describeCounts({ breakers, total }: BreakersAnswer): string {
  const open = breakers.filter(({ state }) => state !== 'CLOSED').length;
  const shown = total > breakers.length ? ` · the first ${formatNumber(breakers.length)} are shown` : '';
  return `${formatCount(total, 'breaker')}, ${formatNumber(open)} not closed${shown}`;
}

function NoBreakers({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <EmptyState icon="check" title="All breakers are closed." />;
  return (
    <EmptyState icon="half" title="No breakers yet.">
      <p>A breaker appears with the first failure of a guarded tool. Try:</p>
      <CommandLine text="switchgear demo" />
    </EmptyState>
  );
}

function BreakerRow({
  breaker,
  onChange,
}: {
  readonly breaker: ActiveBreaker;
  readonly onChange: () => Promise<void>;
}) {
  const { name, trips, tripsPerHour, series, lastFailure, lastOrder, why, failures } = breaker;
  const look = stateLooks(breaker);
  const scope = describeScope(breaker);
  return (
    <tr>
      <th scope="row">
        <a href={formatRoute('breakers', name)}>{name}</a>
        {scope !== '' && (
          <div class="dim note wrap" title={scope}>
            {describeScope({ ...breaker, project: folderOf(breaker.project) })}
          </div>
        )}
      </th>
      <td data-name="State">
        <Badge tone={look.tone} icon={look.icon} text={look.word} />
        {why !== undefined && <div class="dim note">{why}</div>}
        {lastOrder !== undefined && <div class="dim note">{describeOrder(breaker)}</div>}
      </td>
      <td data-name="Failures (10 min)">
        <SeriesCell values={series?.failures} tone="warn" noun="failure" />
        {failures > 0 && <div class="dim note">{formatNumber(failures)} in a row</div>}
      </td>
      <td data-name="Refusals (10 min)">
        <SeriesCell values={series?.refusals} tone="bad" noun="refusal" />
      </td>
      <td data-name="Next probe">
        <NextProbe breaker={breaker} />
      </td>
      <td data-name="Last error">
        {lastFailure === undefined ? (
          <span class="dim">none</span>
        ) : (
          <>
            <span>{lastFailure.error}</span>
            <div class="dim note">
              <Ago wallMs={lastFailure.wallMs} />
              {lastFailure.agent !== undefined && `, ${lastFailure.agent}`}
            </div>
          </>
        )}
      </td>
      <td data-name="Trips">
        <span class="word">{formatNumber(trips)} in all</span>
        <div class="dim note word">last hour: {formatNumber(tripsPerHour)}</div>
      </td>
      {isOperator.value && (
        <td class="is-full">
          <BreakerActions breaker={breaker} onChange={onChange} />
        </td>
      )}
    </tr>
  );
}

interface SeriesCellProps {
  readonly values: readonly number[] | undefined;
  readonly tone: 'warn' | 'bad';
  readonly noun: string;
}

function SeriesCell({ values, tone, noun }: SeriesCellProps) {
  const sum = sumOf(values);
  return (
    <span class="series" title={`${formatCount(sum, noun)} in the last 10 minutes`}>
      <span class="series-sum">{formatNumber(sum)}</span>
      {values !== undefined && sum > 0 && <SparkLine values={values} tone={tone} />}
    </span>
  );
}

function NextProbe({ breaker }: { readonly breaker: ActiveBreaker }) {
  const { state, held, untilMs, probes } = breaker;
  if (held) return <>after a release</>;
  if (state === 'CLOSED') return <span class="dim">–</span>;
  if (state === 'HALF_OPEN')
    return (
      <>
        {probes.inFlight > 0 ? `${formatCount(probes.inFlight, 'probe')} in flight` : 'the next call'}
        {probes.succeeded > 0 && <div class="dim note">{formatCount(probes.succeeded, 'probe')} succeeded</div>}
      </>
    );
  if (untilMs === undefined) return <>after a reset</>;
  return (
    <>
      in <Until atMs={untilMs} />
    </>
  );
}

function BreakerActions({
  breaker,
  onChange,
}: {
  readonly breaker: ActiveBreaker;
  readonly onChange: () => Promise<void>;
}) {
  const isBusy = useSignal(false);
  const isHolding = useSignal(false);
  const { name, held } = breaker;
  const give = async (order: 'reset' | 'hold' | 'release', reason?: string) => {
    isHolding.value = false;
    isBusy.value = true;
    try {
      const body = reason === undefined || reason === '' ? {} : { reason };
      const after = await apiPost<BreakersAnswer>(`/api/breakers/${encodePart(name)}/${order}`, body);
      announce(describeEffect(name, after.breakers), 'good');
    } catch (thrown) {
      announce(errorText(thrown), 'bad');
    }
    await onChange();
    isBusy.value = false;
  };
  const hint = `for all breakers named ${name}`;
  return (
    <span class="row-actions">
      <button
        type="button"
        class="small"
        disabled={isBusy.value}
        title={`Close and clear the counts, ${hint}`}
        onClick={() => void give('reset')}
      >
        Reset
      </button>
      {held ? (
        <button
          type="button"
          class="small"
          disabled={isBusy.value}
          title={`Stop holding, ${hint}`}
          onClick={() => void give('release')}
        >
          Release
        </button>
      ) : (
        <button
          type="button"
          class="small"
          disabled={isBusy.value}
          title={`Refuse all calls, ${hint}`}
          onClick={() => (isHolding.value = true)}
        >
          Hold open…
        </button>
      )}
      {isHolding.value && (
        <TextDialog
          title={`Hold ${name} open`}
          subject="Every call is refused in all processes on this store, until somebody releases it."
          label="Reason"
          hint="Kept in the journal; may stay empty."
          verb="Hold open"
          isDangerous={true}
          maxLength={500}
          onSubmit={(text) => void give('hold', text)}
          onClose={() => (isHolding.value = false)}
        />
      )}
    </span>
  );
}

function BreakerDetails({ name, breakers }: { readonly name: string; readonly breakers: readonly ActiveBreaker[] }) {
  const path = `/api/breakers/${encodePart(name)}/entries`;
  const { loaded } = useResource<{ entries: readonly BreakerEntryRow[] }>(path, concernsBreakers);
  const { value } = loaded.value;
  return (
    <div class="details">
      {breakers.map((breaker) => (
        <BreakerSeries key={breaker.key} breaker={breaker} />
      ))}
      <h2>Journal of {name}</h2>
      {value === undefined || value.entries.length === 0 ? (
        <p class="dim">No failures, refusals, trips or orders in the newest entries of the journal.</p>
      ) : (
        <DataTable name={`Journal of ${name}`} columns={['When', 'Event', 'What happened', 'Task']}>
          {value.entries.map(({ seq, wallMs, type, words, task }) => (
            <tr key={seq}>
              <td>
                <Ago wallMs={wallMs} />
              </td>
              <td>
                <EventType type={type} />
              </td>
              <td class="wrap">{words}</td>
              <td>{task !== undefined && <a href={formatRoute('tasks', task)}>{task}</a>}</td>
            </tr>
          ))}
        </DataTable>
      )}
    </div>
  );
}

function BreakerSeries({ breaker }: { readonly breaker: ActiveBreaker }) {
  const { series, name, generation } = breaker;
  const scope = describeScope(breaker);
  const age = <p class="hint">Its state has changed {formatCount(generation, 'time')} (generation).</p>;
  if (series === undefined)
    return (
      <div>
        <p class="dim">{describeBreaker(breaker)}; no failures or refusals in the last 10 minutes.</p>
        {age}
      </div>
    );
  const { stepMs, failures, refusals } = series;
  const most = Math.max(1, ...failures, ...refusals);
  const rows = failures.map((count, at) => [
    `${formatSpan((failures.length - at) * stepMs)} ago`,
    count,
    refusals[at] ?? 0,
  ]);
  const figure = (
    <ChartFigure
      name={`Failures and refusals of ${name}${scope === '' ? '' : ` (${scope})`} in the last 10 minutes`}
      columns={['From', 'Failures', 'Refusals']}
      rows={rows}
    >
      <div class="bars-legend">
        <span class="tone-warn swatch">failures</span> <span class="tone-bad swatch">refusals</span>
        <span class="dim">
          at most {formatNumber(most)} in {formatSpan(stepMs)}
        </span>
      </div>
      <svg class="bars" viewBox="0 0 600 90" preserveAspectRatio="none" aria-hidden="true">
        {failures.map((count, at) => (
          <g key={at}>
            <rect
              class="tone-warn"
              x={at * 20 + 2}
              width="7"
              y={90 - (count / most) * 84}
              height={(count / most) * 84}
            />
            <rect
              class="tone-bad"
              x={at * 20 + 10}
              width="7"
              y={90 - ((refusals[at] ?? 0) / most) * 84}
              height={((refusals[at] ?? 0) / most) * 84}
            />
          </g>
        ))}
      </svg>
      <div class="axis">
        <span>10 min ago</span>
        <span>now</span>
      </div>
    </ChartFigure>
  );
  return (
    <div>
      {figure}
      {age}
    </div>
  );
}

export const breakersView: View = { id: 'breakers', title: 'Breakers', Component: Breakers };
