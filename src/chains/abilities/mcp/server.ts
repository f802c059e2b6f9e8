/** One MCP server: started when it is first needed, and again after it ended; one process at a time. */

import {
  Client,
  ProtocolError,
  ProtocolErrorCode,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { mcpStartMs, reasonLengthMax, timerMaxMs } from '../../../core/limits.ts';
import type { AbilityCall } from '../ability.ts';
import { AbilityError } from '../ability-error.ts';
import type { Environment } from '../child-process.ts';
import { boundedFetch, excessOf } from './bounded-fetch.ts';
import { type McpServerConfig, startable } from './config.ts';
import { toolOutput } from './result.ts';
import { processLine } from './stdio-transport.ts';

export interface McpServer {
  /** Starts it if need be, and asks for its tools. */
  tools(): Promise<readonly string[]>;
  call(tool: string, call: AbilityCall): Promise<unknown>;
  close(): Promise<void>;
}

/** Where servers are started. */
export interface McpWorld {
  readonly cwd: string;
  readonly env: Environment;
  /** Gets the lines that servers write to their stderr. */
  readonly heard?: ((server: string, line: string) => void) | undefined;
}

interface Connection {
  readonly client: Client;
  readonly ending: () => string | undefined;
}

const identity = { name: 'switchgear', version: '1' };

export function mcpServer(name: string, config: McpServerConfig, world: McpWorld): McpServer {
  let connecting: Promise<Connection> | undefined;
  let opened: Opened | undefined;
  let isClosed = false;

  /** One connection for all; when it is lost, or cannot be made, the next call makes another. */
  const connection = (): Promise<Connection> => {
    if (connecting !== undefined) return connecting;
    const made = connect();
    connecting = made;
    made.then(({ client }) => (client.onclose = () => forget(made))).catch(() => forget(made));
    return made;
  };
  const forget = (gone: Promise<Connection>) => {
    if (connecting === gone) connecting = undefined;
  };

  /** After a request that failed: nothing else says that a line over HTTP is lost. */
  const letGo = (made: Promise<Connection>, { client, ending }: Connection) => {
    if (config.kind === 'process' && ending() === undefined) return;
    forget(made);
    void client.close().catch(() => {});
  };

  /** Begins as older servers want it, and anew as newer ones do if it says that it is one. */
  const connect = async (): Promise<Connection> => {
    const here = startable(config, world.cwd, world.env);
    const openHere = () => {
      if (isClosed) throw new AbilityError('it was closed');
      opened = open(name, here, world);
      return opened;
    };
    try {
      return await begin(name, here, openHere(), 'legacy');
    } catch (error) {
      if (!isTooNew(error)) throw error;
      return await begin(name, here, openHere(), 'auto');
    }
  };

  return {
    async tools() {
      const made = connection();
      const at = await made;
      try {
        return (await at.client.listTools(undefined, { timeout: mcpStartMs })).tools.map((tool) => tool.name);
      } catch (error) {
        letGo(made, at);
        throw told(name, error, `${titleOf(name)} does not say what it can do: ${wordsOf(error)}`);
      }
    },
    async call(tool, { name: ability, args, signal, attemptKey }) {
      const made = connection();
      const at = await unless(signal, made);
      try {
        const _meta = { 'switchgear/attemptKey': attemptKey };
        // How long a step may take is said by its signal alone.
        const options = { signal, timeout: timerMaxMs };
        return toolOutput(ability, await at.client.callTool({ name: tool, arguments: args, _meta }, options));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AbilityError || error instanceof ProtocolError) throw told(ability, error);
        letGo(made, at);
        const how = at.ending();
        const lost = `${titleOf(name)} ended while it did ${tool}`;
        throw told(ability, error, how === undefined ? undefined : `${lost} (${how})`);
      }
    },
    async close() {
      isClosed = true;
      await opened?.transport.close();
    },
  };
}

/** The failure in a sentence that names the ability, with what breakers read of it. */
function told(ability: string, error: unknown, sentence?: string): AbilityError {
  if (error instanceof AbilityError) return error;
  const facts =
    error instanceof ProtocolError
      ? { code: error.code }
      : error instanceof SdkHttpError && error.status !== undefined
        ? { status: error.status }
        : { name: 'NetworkError' as const };
  return new AbilityError(sentence ?? `${ability} failed: ${wordsOf(error)}`, { ...facts, cause: error });
}

function wordsOf(error: unknown): string {
  return (error as Error).message.slice(0, reasonLengthMax);
}

/** Waits for something that others may wait for as well, as long as the caller may. */
async function unless<T>(signal: AbortSignal, wanted: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([wanted, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface Opened {
  readonly transport: Transport;
  readonly ending: () => string | undefined;
}

function open(name: string, config: McpServerConfig, { env, heard }: McpWorld): Opened {
  if (config.kind === 'process') return processLine(config, env, heard && ((line) => heard(name, line)));
  // The address is not shown: it may hold a key that stood for a variable.
  if (!URL.canParse(config.url) || !/^https?:/i.test(config.url))
    throw new AbilityError(`mcpServers.${name}.url is no address that begins with https:// or http://`);
  const Line = config.kind === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  let excess: string | undefined;
  const fetch = boundedFetch(() => {
    excess = excessOf;
    void transport.close(); // Whoever waits for an answer hears of it now.
  });
  const transport: Transport = new Line(new URL(config.url), { requestInit: { headers: config.headers }, fetch });
  return { transport, ending: () => excess };
}

async function begin(
  name: string,
  config: McpServerConfig,
  { transport, ending }: Opened,
  mode: 'legacy' | 'auto',
): Promise<Connection> {
  const client = new Client(identity, { versionNegotiation: { mode } });
  try {
    await client.connect(transport, { timeout: mcpStartMs });
    return { client, ending };
  } catch (error) {
    const how = ending(); // Before it is ended by us.
    await transport.close().catch(() => {});
    throw mode === 'legacy' && isTooNew(error) ? error : told(name, error, notStarted(name, config, error, how));
  }
}

function isTooNew(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === ProtocolErrorCode.UnsupportedProtocolVersion;
}

function notStarted(name: string, config: McpServerConfig, error: unknown, how: string | undefined): string {
  const { code } = error as { readonly code?: unknown };
  if (config.kind === 'process' && code === 'ENOENT')
    return `${titleOf(name)} cannot be started: there is no ${config.command}, or no folder ${config.cwd}`;
  if (code === SdkErrorCode.RequestTimeout) return `${titleOf(name)} did not answer within ${mcpStartMs / 1000} s`;
  return `${titleOf(name)} did not start: ${how ?? wordsOf(error)}`;
}

function titleOf(name: string): string {
  return `the MCP server ${JSON.stringify(name)}`;
}
