/** The command `switchgear mcp`: starts an MCP server and judges the calls of its tools. */

import { basename } from 'node:path';
import { SwitchgearError } from '../../core/error.ts';
import { runStdioProxy } from '../../mcp/stdio-proxy.ts';
import { type Command, readArgs, type Terminal, usageError } from '../command.ts';
import type { McpCommandOptions } from './open-judge.ts';

const valueOptions = ['--store', '--policy', '--name', '--agent', '--session'];
const knownSwitches = ['--no-restart'];

export const command: Command = {
  usage: ['mcp [options] -- COMMAND …       put a breaker in front of an MCP server'],
  details: [
    '',
    'Write this command before the server in the configuration of an MCP client. All messages pass unchanged; calls of',
    'tools are judged.',
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
  const options = parseMcpOptions(args);
  const stop = new AbortController();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const onSignal = (name: NodeJS.Signals) => stop.abort(name);
  for (const name of names) process.on(name, onSignal);
  const closing = Promise.withResolvers<void>();
  let opened: Promise<unknown> | undefined;
  try {
    return await runStdioProxy({
      command: options.command,
      restarts: options.restarts,
      input: process.stdin,
      output: process.stdout,
      stopSignal: stop.signal,
      report: (line) => terminal.err(`switchgear: ${line}`),
      async openJudge(client) {
        const { openJudge } = await import('./open-judge.ts');
        const { judge, closed } = openJudge(options, terminal, client, closing.promise);
        opened = closed;
        return judge;
      },
      onJudgeFailed: (error) => terminal.err(`switchgear: calls are refused: ${describeError(error)}`),
    });
  } finally {
    for (const name of names) process.removeListener(name, onSignal);
    closing.resolve();
    await opened;
    // A client that does not close its end must not keep this process alive.
    process.stdin.destroy();
  }
}

function parseMcpOptions(args: readonly string[]): McpCommandOptions {
  const separator = args.indexOf('--');
  if (separator === -1)
    throw usageError('mcp: write the command of the server after --, as in: mcp -- npx some-server');
  const command = args.slice(separator + 1);
  if (command.length === 0) throw usageError('mcp: no command after --');
  const parsedArgs = readArgs(args.slice(0, separator), knownSwitches, 0, valueOptions);
  const { values, switches } = parsedArgs;
  return {
    parsedArgs,
    command,
    name: values.get('--name') ?? nameFromCommand(command),
    agent: values.get('--agent'),
    session: values.get('--session'),
    restarts: !switches.has('--no-restart'),
  };
}

/** Programs that run another one, which their arguments name. */
const launchers = /^(npx|npm|pnpm|pnpx|yarn|bunx?|uvx?|pipx|deno|node|nodejs|python[\d.]*|docker|podman|sh|bash|env)$/;
const launcherWords = new Set(['run', 'exec', 'x', 'dlx', 'tool']);

/** The name of a server from its command: `npx -y @scope/weather@1.2 …` is `weather`. */
function nameFromCommand([program = '', ...args]: readonly string[]): string {
  const plain = basename(program).replace(/\.(exe|cmd)$/i, '');
  const named = launchers.test(plain)
    ? args.find((arg) => !arg.startsWith('-') && !launcherWords.has(arg) && !/^\w+=/.test(arg))
    : undefined;
  const last = basename((named ?? plain).replace(/(?<=.)@[\w.^~-]+$/, '')).replace(/\.(m?js|cjs|m?ts|py|sh)$/, '');
  return last || plain || 'server';
}

function describeError(error: unknown): string {
  if (error instanceof SwitchgearError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
