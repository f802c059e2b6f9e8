/** The view Store: whether it answers, how full it is, which processes and agents use it, and alerts. */

import type { StoreAnswer, StoreProcess } from '../../../src/operator/board/answers.ts';
import { Badge } from '../components/badge.tsx';
import { DataTable } from '../components/data-table.tsx';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { Meter } from '../components/meter.tsx';
import { Ago, Until } from '../components/time.tsx';
import { useResource } from '../live/resource.ts';
import { formatCount, formatNumber, libraryCode } from '../logic/format.ts';
import { formatRoute } from '../logic/route.ts';
import { connection } from '../state.ts';
import type { View } from './view.ts';

const agentKinds = {
  run: 'agent of a run',
  hooks: 'agent with hooks',
  mcp: 'client of an MCP proxy',
  gateway: 'client of the gateway',
  server: 'server of an MCP proxy',
};

const concernsStore = ({ type }: { readonly type: string }) => type.startsWith('store-') || type.startsWith('task-');

function Store() {
  const { loaded, reload } = useResource<StoreAnswer>('/api/store', concernsStore, 5_000);
  const { value, error } = loaded.value;
  if (value === undefined) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reload} />;
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      <div class="store-panels">
        <Health value={value} />
        <Size value={value} />
      </div>
      <Processes value={value} />
      <Alerts value={value} />
      <Outages value={value} />
    </>
  );
}

function Health({ value: { store, health } }: { readonly value: StoreAnswer }) {
  const isShared = health.state === 'shared' && connection.value.state !== 'store-away';
  return (
    <section class="panel" aria-labelledby="store-health">
      <h2 id="store-health">State</h2>
      <p>
        {isShared ? (
          <Badge tone="good" icon="check" text="Shared" />
        ) : (
          <Badge tone="bad" icon="alert" text="Degraded" />
        )}{' '}
        {connection.value.state === 'store-away' ? connection.value.reason : health.reason}
      </p>
      <p class="dim wrap">
        <code>{store}</code>
      </p>
    </section>
  );
}

const mebibyte = 1_048_576;

function Size({ value: { journal, size } }: { readonly value: StoreAnswer }) {
  const entries = size.entries ?? (journal.last === 0 ? 0 : journal.last - journal.first + 1);
  const { bytes, bytesMax, cells, cellsMax, keepDays, entriesMax } = size;
  const inMegabytes = (count: number) => Math.round((count / mebibyte) * 10) / 10;
  return (
    <section class="panel" aria-labelledby="store-size">
      <h2 id="store-size">Size</h2>
      <div class="meter-list">
        <Meter name="Journal entries" used={entries} limit={entriesMax} />
        {bytes !== undefined && (
          <Meter
            name="Megabytes"
            used={inMegabytes(bytes)}
            limit={bytesMax === undefined ? undefined : inMegabytes(bytesMax)}
          />
        )}
        {cells !== undefined && <Meter name="Values" used={cells} limit={cellsMax} />}
      </div>
      <p class="hint">
        Entries {formatNumber(journal.first)} to {formatNumber(journal.last)}.
        {keepDays !== undefined &&
          ` Entries are kept for ${formatCount(keepDays, 'day')}; beyond the size the oldest go first.`}
      </p>
    </section>
  );
}

/** What a process is, in words. */
const processWords: Readonly<Record<StoreProcess['kind'], string>> = {
  library: 'library',
  run: 'switchgear run',
  hook: 'hook',
  chain: 'chain',
  mcp: 'MCP proxy',
  gateway: 'gateway',
};

function Processes({ value: { store, processes, agents } }: { readonly value: StoreAnswer }) {
  const hasLibrary = processes.some(({ kind, isAlive }) => kind === 'library' && isAlive);
  // A process that ended in order left no task behind.
  const shown = processes.filter(({ isAlive, tasks }) => isAlive || tasks > 0);
  const endedCount = processes.length - shown.length;
  return (
    <section class="store-section" aria-labelledby="store-processes">
      <h2 id="store-processes">Processes and agents</h2>
      {shown.length + agents.length === 0 ? (
        <EmptyState icon="screen" title="No process uses this store now.">
          <p>
            <code>switchgear run</code>, hooks, chains, the MCP proxy and the gateway use it by themselves. Try:
          </p>
          <CommandLine text="switchgear run -- claude -p 'tidy the readme'" />
        </EmptyState>
      ) : (
        <div class="stacked">
          <DataTable name="Processes and agents" columns={['Kind', 'Name', 'State', 'Tasks']}>
            {shown.map(({ id, kind, isAlive, untilMs, tasks, agents: names }) => (
              <tr key={id}>
                <td data-name="Kind">{processWords[kind]}</td>
                <th scope="row">
                  {names.length === 0 ? 'a program' : names.join(', ')}
                  <div class="dim note">{id}</div>
                </th>
                <td data-name="State">
                  {isAlive ? (
                    <>
                      <Badge tone="good" icon="dot" text="alive" />{' '}
                      <span class="dim">
                        next sign within <Until atMs={untilMs} />
                      </span>
                    </>
                  ) : (
                    <Badge tone="plain" icon="question" text="gone" />
                  )}
                </td>
                <td data-name="Tasks">{formatNumber(tasks)}</td>
              </tr>
            ))}
            {agents.map(({ by, name, id, pid }) => (
              <tr key={`${by} ${id} ${pid}`}>
                <td data-name="Kind">{agentKinds[by]}</td>
                <th scope="row">
                  {name}
                  <div class="dim note">{pid === undefined ? id : `${id}, process ${pid}`}</div>
                </th>
                <td data-name="State">
                  <Badge tone="good" icon="dot" text="running" />
                </td>
                <td />
              </tr>
            ))}
          </DataTable>
        </div>
      )}
      {endedCount > 0 && (
        <p class="hint">{formatCount(endedCount, 'process', 'processes')} of the last minutes have ended.</p>
      )}
      {!hasLibrary && <LibraryNote store={store} />}
    </section>
  );
}

/** How a program is seen here. */
function LibraryNote({ store }: { readonly store: string }) {
  return (
    <div class="panel library-note">
      <h3>No library process is seen</h3>
      <p>A program that uses Switchgear as a library is seen here once it was given this store, and has a task:</p>
      <CommandLine text={libraryCode(store)} />
      <p class="hint">
        The guides “Sharing state between processes” (docs/guides/one-machine.md) and “Redis” (docs/guides/fleet.md)
        tell more.
      </p>
    </div>
  );
}

/** Alerts are cards: the inbox has them with their buttons. */
function Alerts({ value: { alerts } }: { readonly value: StoreAnswer }) {
  const { firing, failingWebhooks } = alerts;
  return (
    <section class="store-section" aria-labelledby="store-alerts">
      <h2 id="store-alerts">Alerts</h2>
      <p>
        {firing === 0 ? (
          <Badge tone="good" icon="check" text="no alert" />
        ) : (
          <Badge tone="bad" icon="bell" text={formatCount(firing, 'alert')} />
        )}{' '}
        Alerts are cards, once in each period: <a href={formatRoute('inbox')}>open the inbox</a>.
      </p>
      {failingWebhooks.length > 0 && (
        <p class="error-text">
          Messages cannot be delivered to {failingWebhooks.join(', ')}: switchgear alerts says why.
        </p>
      )}
    </section>
  );
}

function Outages({ value: { outages } }: { readonly value: StoreAnswer }) {
  return (
    <section class="store-section" aria-labelledby="store-outages">
      <h2 id="store-outages">Outages</h2>
      {outages.length === 0 ? (
        <p class="dim">No process has reported that it could not reach the store.</p>
      ) : (
        <DataTable name="Outages" columns={['When', 'What', 'Reason']}>
          {outages.map(({ wallMs, type, reason }, at) => (
            <tr key={`${wallMs} ${at}`}>
              <td>
                <Ago wallMs={wallMs} />
              </td>
              <td>{type === 'store-degraded' ? 'degraded' : 'recovered'}</td>
              <td class="wrap">{reason}</td>
            </tr>
          ))}
        </DataTable>
      )}
    </section>
  );
}

export const storeView: View = { id: 'store', title: 'Store', Component: Store };
