/** A connection to one MCP server: starts the server on first use and again after it ended. */

import type { CallToolResult, Client, ClientOptions, Transport } from '@modelcontextprotocol/client';
import { mcpStartMs, reasonLengthMax, timerMaxMs } from '../../../core/limits.ts';
import { type AbilityCall, AbilityError, parseTextValue, toPlainOutput } from '../ability.ts';
import { boundedFetch, excessMessage } from './bounded-fetch.ts';
import { identifyServer, type McpEnvironment, type McpServerConfig, resolveConfig } from './config.ts';
import { createProcessTransport, type McpSdk } from './process-transport.ts';

export interface McpServer {
  /** Starts the server if necessary, and lists its tools. */
  tools(): Promise<readonly string[]>;
  call(tool: string, call: AbilityCall): Promise<unknown>;
  /** The server that is connected now, as plain data. */
  identify(): Promise<unknown>;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Client;
  readonly ending: () => string | undefined;
  /** The server when it was started. */
  readonly identity: unknown;
}

/**
 * Accepts every structured result. The schema comes from the server: a pattern in it could block this process for
 * hours, and the rules of the chain judge the output anyway.
 */
const acceptAll: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

const identity = { name: 'switchgear', version: '1' };

export function createMcpServer(
  sdk: McpSdk,
  name: string,
  config: McpServerConfig,
  environment: McpEnvironment,
): McpServer {
  let connecting: Promise<Connection> | undefined;
  let opened: OpenTransport | undefined;
  let isClosed = false;

  /** Returns the shared connection; after a failed or lost connection the next call connects again. */
  const getConnection = (): Promise<Connection> => {
    if (connecting !== undefined) return connecting;
    const pending = connect();
    connecting = pending;
    pending.then(({ client }) => (client.onclose = () => forget(pending))).catch(() => forget(pending));
    return pending;
  };
  const forget = (lost: Promise<Connection>) => {
    if (connecting === lost) connecting = undefined;
  };

  /** Drops the connection after a failed request: a lost HTTP connection reports nothing else. */
  const dropLost = (pending: Promise<Connection>, { client, ending }: Connection) => {
    if (config.kind === 'process' && ending() === undefined) return;
    forget(pending);
    void client.close().catch(() => {});
  };

  /** Connects with the legacy handshake; reconnects with negotiation if the server rejects its version. */
  const connect = async (): Promise<Connection> => {
    const resolved = resolveConfig(config, environment.cwd, environment.env);
    const server = identifyServer(name, config, environment.cwd, environment.env);
    const openResolved = () => {
      if (isClosed) throw new AbilityError('the MCP servers of these abilities were closed');
      opened = openTransport(sdk, name, resolved, environment);
      return opened;
    };
    try {
      return { ...(await connectClient(sdk, name, resolved, openResolved(), 'legacy')), identity: server };
    } catch (error) {
      if (!isTooNew(sdk, error)) throw error;
      return { ...(await connectClient(sdk, name, resolved, openResolved(), 'auto')), identity: server };
    }
  };

  return {
    async tools() {
      const pending = getConnection();
      const connection = await pending;
      try {
        return (await connection.client.listTools(undefined, { timeout: mcpStartMs })).tools.map((tool) => tool.name);
      } catch (error) {
        dropLost(pending, connection);
        throw toAbilityError(
          sdk,
          name,
          error,
          `${formatTitle(name)} does not say what it can do: ${readMessage(error)}`,
        );
      }
    },
    identify: async () => (await getConnection()).identity,
    async call(tool, { name: ability, args, signal, attemptKey, approvedIdentity }) {
      const pending = getConnection();
      const connection = await waitUnlessAborted(signal, pending);
      // The server may have ended after the approval, and another program may have been started in its place.
      if (approvedIdentity !== undefined && JSON.stringify(connection.identity) !== approvedIdentity)
        throw new AbilityError(`${formatTitle(name)} is another one than the one that was approved`, {
          name: 'PolicyDenied',
        });
      try {
        const _meta = { 'switchgear/attemptKey': attemptKey };
        // The signal of the step is the only time limit.
        const options = { signal, timeout: timerMaxMs };
        return readToolOutput(
          ability,
          await connection.client.callTool({ name: tool, arguments: args, _meta }, options),
        );
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof AbilityError || error instanceof sdk.ProtocolError)
          throw toAbilityError(sdk, ability, error);
        dropLost(pending, connection);
        const how = connection.ending();
        const lost = `${formatTitle(name)} ended while it did ${tool}`;
        throw toAbilityError(sdk, ability, error, how === undefined ? undefined : `${lost} (${how})`);
      }
    },
    async close() {
      isClosed = true;
      await opened?.transport.close();
    },
  };
}

/** Converts a failure to an `AbilityError` that names the ability and has the details that breakers read. */
function toAbilityError(sdk: McpSdk, ability: string, error: unknown, sentence?: string): AbilityError {
  if (error instanceof AbilityError) return error;
  const facts =
    error instanceof sdk.ProtocolError
      ? { code: error.code }
      : error instanceof sdk.SdkHttpError && error.status !== undefined
        ? { status: error.status }
        : { name: 'NetworkError' as const };
  return new AbilityError(sentence ?? `${ability} failed: ${readMessage(error)}`, { ...facts, cause: error });
}

function readMessage(error: unknown): string {
  return (error as Error).message.slice(0, reasonLengthMax);
}

/** Waits for a promise that other callers share; rejects when this caller's signal aborts. */
async function waitUnlessAborted<T>(signal: AbortSignal, promised: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promised, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

interface OpenTransport {
  readonly transport: Transport;
  readonly ending: () => string | undefined;
}

function openTransport(
  sdk: McpSdk,
  name: string,
  config: McpServerConfig,
  { env, onStderr }: McpEnvironment,
): OpenTransport {
  if (config.kind === 'process')
    return createProcessTransport(sdk, config, env, onStderr && ((line) => onStderr(name, line)));
  // The message does not show the address: a filled variable in it may be a secret.
  if (!URL.canParse(config.url) || !/^https?:/i.test(config.url))
    throw new AbilityError(`mcpServers.${name}.url must be a URL that starts with https:// or http://`);
  const Line = config.kind === 'sse' ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
  let excess: string | undefined;
  const fetch = boundedFetch(() => {
    excess = excessMessage;
    void transport.close(); // Pending requests fail now.
  });
  const transport: Transport = new Line(new URL(config.url), { requestInit: { headers: config.headers }, fetch });
  return { transport, ending: () => excess };
}

async function connectClient(
  sdk: McpSdk,
  name: string,
  config: McpServerConfig,
  { transport, ending }: OpenTransport,
  mode: 'legacy' | 'auto',
): Promise<Omit<Connection, 'identity'>> {
  const client = new sdk.Client(identity, { versionNegotiation: { mode }, jsonSchemaValidator: acceptAll });
  try {
    await client.connect(transport, { timeout: mcpStartMs });
    return { client, ending };
  } catch (error) {
    const how = ending(); // Read before `close` ends the process.
    await transport.close().catch(() => {});
    throw mode === 'legacy' && isTooNew(sdk, error)
      ? error
      : toAbilityError(sdk, name, error, explainStartFailure(sdk, name, config, error, how));
  }
}

function isTooNew(sdk: McpSdk, error: unknown): boolean {
  return error instanceof sdk.ProtocolError && error.code === sdk.ProtocolErrorCode.UnsupportedProtocolVersion;
}

function explainStartFailure(
  sdk: McpSdk,
  name: string,
  config: McpServerConfig,
  error: unknown,
  how: string | undefined,
): string {
  const { code } = error as { readonly code?: unknown };
  if (config.kind === 'process' && code === 'ENOENT')
    return `${formatTitle(name)} cannot be started: no command ${config.command}, or no folder ${config.cwd}`;
  if (code === sdk.SdkErrorCode.RequestTimeout)
    return `${formatTitle(name)} did not answer within ${mcpStartMs / 1000} s`;
  return `${formatTitle(name)} did not start: ${how ?? readMessage(error)}`;
}

function formatTitle(name: string): string {
  return `the MCP server ${JSON.stringify(name)}`;
}

/** Converts a tool result to an output: structured content, else the joined texts parsed as JSON, else all content. */
function readToolOutput(name: string, { content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  if (isError === true) {
    const message = texts.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, reasonLengthMax);
    throw new AbilityError(message === '' ? `${name} failed without a message` : `${name} failed: ${message}`);
  }
  if (structuredContent !== undefined) return toPlainOutput(name, structuredContent);
  if (texts.length < content.length) return toPlainOutput(name, content);
  return toPlainOutput(name, texts.length === 0 ? null : parseTextValue(texts.join('\n')));
}
