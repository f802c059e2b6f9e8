/**
 * Records the clients of a proxy as guarded agents: the one that started it, or those that connect by HTTP. Servers are
 * recorded where no client is above them, because their tools do what clients ask for.
 */

import { evictOldest } from '../../core/bounded.ts';
import type { Store } from '../../ports/store.ts';
import { type ClientProcess, findStartingClient } from '../../supervisor/client-process.ts';
import { ClientWatch, knownClientsMax } from '../../supervisor/client-watch.ts';
import type { ConnectionEnds } from '../../supervisor/peer-process.ts';
import { isRunning, type ProcessInfo } from '../../supervisor/process-table.ts';
import { type ClientIdentity, ClientRecords } from '../../supervisor/recorded-agents.ts';
import type { McpCommandOptions } from './options.ts';

export interface ProxyClients {
  /** The program that started this process as its client. */
  readonly host: ProcessInfo | undefined;
  /** Records the clients and servers so far. Waits until they are in the store, or the store is known to be away. */
  record(store: Store, client: string | undefined): Promise<void>;
  /** Records the client of a connection, or once the store is open. */
  note(connection: ConnectionEnds): Promise<void> | undefined;
  /** Records a server that has joined the servers, if the store is open. */
  noteServer(server: ProcessInfo): void;
}

/** @param servers The servers that this process has started. */
export function createProxyClients(
  { agent, name, listen }: McpCommandOptions,
  servers: Set<ProcessInfo>,
): ProxyClients {
  const starter = listen === undefined ? findStartingClient() : undefined;
  /** Connections from before the store was opened. */
  const early = new Set<ConnectionEnds>();
  let opened: { readonly watch: ClientWatch; readonly records: ClientRecords } | undefined;
  let recorded = Promise.resolve();
  const ofServer: ClientIdentity = { by: 'server', agent: name, name };

  /** Records the starter, or the servers if there is none. */
  function recordProcesses(records: ClientRecords, client: string | undefined): Promise<void> {
    if (starter !== undefined)
      return write(records, starter, { by: 'mcp', agent: agent ?? client ?? 'mcp-client', name });
    const processes = [...servers].filter(isRunning);
    return processes.length === 0 ? Promise.resolve() : write(records, { processes }, ofServer);
  }

  return {
    host: starter?.processes.at(-1),
    async record(store, client) {
      if (opened === undefined) {
        opened = { watch: new ClientWatch(store, { by: 'mcp', agent, name }), records: new ClientRecords(store) };
        recorded = recordProcesses(opened.records, client);
      }
      const { watch } = opened;
      const noted = [...early].map((each) => watch.note(each));
      early.clear();
      await Promise.all([recorded, ...noted]);
    },
    note(connection) {
      if (listen === undefined) return undefined;
      if (opened !== undefined) return opened.watch.note(connection);
      evictOldest(early, knownClientsMax);
      early.add(connection);
      return undefined;
    },
    noteServer(server) {
      if (starter !== undefined || opened === undefined) return;
      const { records } = opened;
      recorded = recorded.then(() => write(records, { processes: [server] }, ofServer));
    },
  };
}

/** A store that is away must not keep the proxy from its work. */
function write(records: ClientRecords, client: ClientProcess, identity: ClientIdentity): Promise<void> {
  return records.keep(client, identity).catch(() => undefined);
}
