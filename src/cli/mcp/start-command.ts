/** Starts the server of a proxy by its command. */

import type { StartServer } from '../../mcp/server-link.ts';
import { startServerProcess } from '../../mcp/server-process.ts';
import { findProcess, type ProcessInfo } from '../../supervisor/process-table.ts';
import type { ServerPlace } from './options.ts';

/** @param noteServer Learns of each process that was started. */
export function startCommand(
  server: Extract<ServerPlace, { readonly kind: 'command' }>,
  noteServer: (server: ProcessInfo) => void,
): StartServer {
  return async () => {
    const link = await startServerProcess(server.command, server);
    const started = 'pid' in link ? findProcess(link.pid!) : undefined;
    if (started !== undefined) noteServer(started);
    return link;
  };
}
