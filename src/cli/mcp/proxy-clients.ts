/** Records the clients of a proxy as guarded agents: the one that started it, or those that connect by HTTP. */

import { evictOldest } from '../../core/bounded.ts';
import type { Store } from '../../ports/store.ts';
import { findStartingClient } from '../../supervisor/client-process.ts';
import { ClientWatch, knownClientsMax } from '../../supervisor/client-watch.ts';
import type { ConnectionEnds } from '../../supervisor/peer-process.ts';
import type { ProcessInfo } from '../../supervisor/process-table.ts';
import { clientRecordMs, recordClient } from '../../supervisor/recorded-agents.ts';
import type { McpCommandOptions } from './options.ts';

export interface ProxyClients {
  /** The program that started this process as its client. */
  readonly host: ProcessInfo | undefined;
  /** Records the clients so far. Waits until they are in the store, or the store is known to be away. */
  record(store: Store, client: string | undefined): Promise<void>;
  /** Records the client of a connection, or once the store is open. */
  note(connection: ConnectionEnds): Promise<void> | undefined;
}

export function createProxyClients({ agent, name, listen }: McpCommandOptions): ProxyClients {
  const starter = listen === undefined ? findStartingClient() : undefined;
  /** Connections from before the store was opened. */
  const early = new Set<ConnectionEnds>();
  let watch: ClientWatch | undefined;
  let isRecorded = false;

  async function recordStarter(store: Store, client: string | undefined): Promise<void> {
    if (starter === undefined || isRecorded) return;
    isRecorded = true;
    const identity = { by: 'mcp', agent: agent ?? client ?? 'mcp-client', name } as const;
    const renew = () => {
      store.clock.after(clientRecordMs, renew);
      return recordClient(store, starter, identity).catch(() => undefined);
    };
    await renew();
  }

  return {
    host: starter?.processes.at(-1),
    async record(store, client) {
      await recordStarter(store, client);
      watch ??= new ClientWatch(store, { by: 'mcp', agent, name });
      const noted = [...early].map((each) => watch!.note(each));
      early.clear();
      await Promise.all(noted);
    },
    note(connection) {
      if (listen === undefined) return undefined;
      if (watch !== undefined) return watch.note(connection);
      evictOldest(early, knownClientsMax);
      early.add(connection);
      return undefined;
    },
  };
}
