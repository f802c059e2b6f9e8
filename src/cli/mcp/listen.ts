/** Runs `switchgear mcp --listen`: clients connect by HTTP, until a signal ends the process. */

import { makeListenError } from '../../http/listen-error.ts';
import { HttpRelay } from '../../mcp/http/http-relay.ts';
import { type ListenOptions, listen } from '../../mcp/http/listener.ts';
import { RemoteServer } from '../../mcp/http/remote-server.ts';
import { StdioBridge, type StdioBridgeOptions } from '../../mcp/http/stdio-bridge.ts';
import { limitNewSpace } from '../../platform/memory.ts';
import type { Judges } from './open-judge.ts';
import type { McpCommandOptions } from './options.ts';
import { startCommand } from './start-command.ts';

export interface ListenerRun
  extends Pick<StdioBridgeOptions, 'openJudge' | 'onJudgeFailed' | 'report'>,
    Pick<Judges, 'noteServer'>,
    Pick<ListenOptions, 'noteClient'> {
  readonly stopSignal: AbortSignal;
}

export async function runListener(
  { server, restarts, allowedHosts }: McpCommandOptions,
  place: NonNullable<McpCommandOptions['listen']>,
  { stopSignal, noteClient, noteServer, ...judged }: ListenerRun,
): Promise<number> {
  limitNewSpace();
  const handler =
    server.kind === 'url'
      ? new HttpRelay({ ...judged, remote: new RemoteServer(server.url, server.headers) })
      : new StdioBridge({ ...judged, restarts, start: startCommand(server, noteServer) });
  const path = server.kind === 'url' ? server.url.pathname : '/mcp';
  const listening = listen({ ...place, path, allowedHosts, handler, noteClient });
  const listener = await listening.catch((error: NodeJS.ErrnoException) => {
    throw makeListenError(error, 'the proxy', place, '--listen');
  });
  judged.report(`listening on ${listener.url}`);
  await new Promise<void>((resolve) => {
    stopSignal.addEventListener('abort', () => resolve(), { once: true });
    if (stopSignal.aborted) resolve();
  });
  await Promise.all([handler.close(), listener.close()]);
  return 0;
}
