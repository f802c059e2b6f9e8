/** The command `switchgear mcp`: starts an MCP server and judges the calls of its tools. */

import { SwitchgearError } from '../../core/error.ts';
import type { StartServer } from '../../mcp/server-link.ts';
import { runStdioProxy } from '../../mcp/stdio-proxy.ts';
import { isRunning, type ProcessInfo } from '../../supervisor/process-table.ts';
import type { Command, Terminal } from '../command.ts';
import type { Judges } from './open-judge.ts';
import { type McpCommandOptions, parseMcpOptions } from './options.ts';
import { startCommand } from './start-command.ts';

export const command: Command = {
  usage: ['mcp [options] -- COMMAND … | --url URL   put a breaker in front of an MCP server'],
  details: [
    '',
    'Write this command before the server in the configuration of an MCP client. All messages pass unchanged; calls of',
    'tools are judged.',
    '  --url URL       a server that is reached by HTTP, instead of a command',
    "  --header 'NAME: VALUE'  a header of each request to it; ${VARIABLE} is taken from the environment",
    '  --headers-from VARIABLE  more headers, as lines of a variable of the environment',
    '  --listen PORT   let clients connect by HTTP to this port of 127.0.0.1, instead of stdin',
    '  --allow-host NAMES   more hosts under which it is addressed: NAME or NAME:PORT, with commas',
    '  --config FILE --server NAME  a server of the configuration of a client',
    '  --name NAME     the name of the server, as its client knows it; by default from the command',
    '  --agent NAME    the name of the agent; by default that of the client',
    '  --session NAME  the session of the calls; by default a new one',
    '  --no-restart    exit when the server exits, with its code',
    '  --policy FILE   --store STORE',
    '',
    "Exit codes: the server's own (128 + N by a signal); 126 cannot be executed, 127 not found, 2 wrong usage.",
  ],
  run: runCommand,
};

async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  const options = await parseMcpOptions(args, terminal);
  const stop = new AbortController();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (name: NodeJS.Signals) => stop.abort(name);
  for (const name of names) process.on(name, onSignal);
  const report = (line: string) => terminal.err(`switchgear: ${line}`);
  const opening = lazyJudges(options, terminal);
  let problem: string | undefined;
  const judged = {
    openJudge: opening.open,
    onJudgeFailed(error: unknown) {
      const before = problem;
      problem = describeError(error);
      if (problem !== before) report(`calls are refused: ${problem}`);
    },
    report,
  };
  try {
    if (options.listen !== undefined) {
      const { runListener } = await import('./listen.ts');
      const { noteClient, noteServer } = opening;
      const noting = { noteClient, noteServer };
      return await runListener(options, options.listen, { ...judged, ...noting, stopSignal: stop.signal });
    }
    return await runStdioProxy({
      ...judged,
      start: await createStart(options, report, opening.noteServer),
      restarts: options.restarts,
      input: process.stdin,
      output: process.stdout,
      stopSignal: stop.signal,
    });
  } finally {
    for (const name of names) process.removeListener(name, onSignal);
    await opening.close();
    // A client that does not close its end must not keep this process alive.
    process.stdin.destroy();
  }
}

/** What judges need is loaded with the first client. */
function lazyJudges(options: McpCommandOptions, terminal: Terminal): Judges {
  let loading: Promise<Judges> | undefined;
  let loaded: Judges | undefined;
  const servers = new Set<ProcessInfo>();
  const load = () => {
    loading ??= import('./open-judge.ts').then(({ createJudges }) => {
      loaded = createJudges(options, terminal, servers);
      return loaded;
    });
    return loading;
  };
  return {
    open: async (client, ended) => (await load()).open(client, ended),
    noteClient: (connection) =>
      loaded === undefined ? load().then((judges) => judges.noteClient(connection)) : loaded.noteClient(connection),
    noteServer(server) {
      for (const each of servers) if (!isRunning(each)) servers.delete(each);
      servers.add(server);
      loaded?.noteServer(server);
    },
    close: async () => (await loading)?.close(),
  };
}

/** Starts the command, or connects with the URL. What HTTP needs is loaded only for a URL. */
async function createStart(
  { server }: McpCommandOptions,
  report: (line: string) => void,
  noteServer: Judges['noteServer'],
): Promise<StartServer> {
  if (server.kind === 'command') return startCommand(server, noteServer);
  const { HttpServerLink } = await import('../../mcp/http/server-link.ts');
  const { RemoteServer } = await import('../../mcp/http/remote-server.ts');
  const remote = new RemoteServer(server.url, server.headers);
  return (lose) => Promise.resolve(new HttpServerLink({ remote, report, lose }));
}

function describeError(error: unknown): string {
  if (error instanceof SwitchgearError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
