/** Sessions of the official clients of both generations, by stdio or HTTP, with all that their protocols have. */

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as ClientTwo, StreamableHTTPClientTransport as HttpTwo } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTwo } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { bin } from '../../harness/switchgear-bin.ts';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const packages = pathOf('../node_modules/@modelcontextprotocol/');

/** The commands of the servers. */
export const servers = {
  everything: [process.execPath, join(packages, 'server-everything/dist/index.js'), 'stdio'],
  modern: [process.execPath, pathOf('./modern-server.ts')],
} as const;

/** The command of the proxy, with what comes after its options. */
export function proxied(folder: string, rest: readonly string[]): readonly string[] {
  const store = `sqlite:${join(folder, 'state.db')}`;
  return [process.execPath, bin, 'mcp', '--store', store, '--name', 'everything', ...rest];
}

/** Where a client finds its server: a command, or a URL. */
export type Endpoint = { readonly command: readonly string[]; readonly env: Record<string, string> } | URL;

/** What a program uses of a client of either generation. */
export interface Session {
  /** What the program has seen. */
  readonly seen: string[];
  readonly client: ClientOne | ClientTwo;
  call(tool: string, input: object, options?: object): Promise<unknown>;
  close(): Promise<void>;
}

export interface Generation {
  readonly server: keyof typeof servers;
  readonly connect: (endpoint: Endpoint) => Promise<Session>;
  readonly program: (session: Session) => Promise<void>;
}

export type GenerationName = 'client 1.x' | 'client 2.x' | 'client 2.x, 2026-07-28';

export const generations: Readonly<Record<GenerationName, Generation>> = {
  'client 1.x': { server: 'everything', connect: connectOne, program: playLegacy },
  'client 2.x': {
    server: 'everything',
    connect: (endpoint) => connectTwo(endpoint, 'legacy'),
    program: playLegacy,
  },
  'client 2.x, 2026-07-28': {
    server: 'modern',
    connect: (endpoint) => connectTwo(endpoint, { pin: '2026-07-28' }),
    program: playModern,
  },
};

/** Everything that a session must have seen, or a comparison says nothing. */
const legacyMarks = ['sampling', 'elicitation', 'cancelled', 'logging', 'updated'];
export const marks: Readonly<Record<GenerationName, readonly string[]>> = {
  'client 1.x': legacyMarks,
  'client 2.x': legacyMarks,
  'client 2.x, 2026-07-28': ['elicitation', 'cancelled', 'an unknown tool', 'tools changed'],
};

const about = { name: 'driver', version: '1' };
const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
const sampled = { model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled text' } };
const elicited = { action: 'accept', content: { name: 'x', colour: 'blue', approve: true } };

async function connectOne(endpoint: Endpoint): Promise<Session> {
  const client = new ClientOne(about, { capabilities });
  const seen: string[] = [];
  const answerWith = (word: string, result: object) => async () => {
    seen.push(word);
    return result as never;
  };
  client.setRequestHandler(types.CreateMessageRequestSchema, answerWith('sampling', sampled));
  client.setRequestHandler(types.ElicitRequestSchema, answerWith('elicitation', elicited));
  client.setRequestHandler(types.ListRootsRequestSchema, answerWith('roots', { roots: [] }));
  client.setNotificationHandler(types.LoggingMessageNotificationSchema, () => void seen.push('logging'));
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, () => void seen.push('updated'));
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => void seen.push('tools changed'));
  const transport = endpoint instanceof URL ? new HttpOne(endpoint) : new StdioOne(toStdio(endpoint));
  await client.connect(transport as never);
  const call = (name: string, input: object, options = {}) =>
    client.callTool({ name, arguments: { ...input } }, undefined, options);
  const close = async () => {
    if (transport instanceof HttpOne) await transport.terminateSession();
    await client.close();
  };
  return { client, seen, call, close };
}

function toStdio({ command: [command = '', ...args], env }: Exclude<Endpoint, URL>) {
  return { command, args, env, stderr: 'ignore' as const };
}

async function connectTwo(endpoint: Endpoint, mode: 'legacy' | { readonly pin: '2026-07-28' }): Promise<Session> {
  const client = new ClientTwo(about, { capabilities, versionNegotiation: { mode } });
  const seen: string[] = [];
  const answerWith = (word: string, result: object) => async () => {
    seen.push(word);
    return result as never;
  };
  client.setRequestHandler('sampling/createMessage', answerWith('sampling', sampled));
  client.setRequestHandler('elicitation/create', answerWith('elicitation', elicited));
  client.setRequestHandler('roots/list', answerWith('roots', { roots: [] }));
  client.setNotificationHandler('notifications/message', () => void seen.push('logging'));
  client.setNotificationHandler('notifications/resources/updated', () => void seen.push('updated'));
  client.setNotificationHandler('notifications/tools/list_changed', () => void seen.push('tools changed'));
  const transport = endpoint instanceof URL ? new HttpTwo(endpoint) : new StdioTwo(toStdio(endpoint));
  await client.connect(transport);
  const call = (name: string, input: object, options = {}) =>
    client.callTool({ name, arguments: { ...input } }, options);
  const close = async () => {
    if (transport instanceof HttpTwo && mode === 'legacy') await transport.terminateSession();
    await client.close();
  };
  return { client, seen, call, close };
}

/** Uses everything that the older protocol has. */
async function playLegacy({ client, call, seen }: Session): Promise<void> {
  // The server asks for roots by a timer, and tells in its log that it got them; by HTTP it asks nobody if the client
  // does not listen by then.
  await Promise.race([untilSeen(seen, 'logging'), new Promise((resolve) => setTimeout(resolve, 5_000))]);
  const { tools } = await client.listTools();
  seen.push(`${tools.length} tools`);
  await client.ping();
  await call('echo', { message: 'hello, "wörld" \u2028' });
  await call('get-structured-content', { location: 'New York' });
  await call('get-tiny-image', {});
  await call('get-sum', { a: 1, b: 'two' }).catch(() => seen.push('an argument that does not fit'));
  await call('no-such-tool', {}).catch(() => seen.push('an unknown tool'));
  await call('trigger-long-running-operation', { duration: 0.4, steps: 4 }, { onprogress: () => undefined });
  await call('trigger-sampling-request', { prompt: 'p', maxTokens: 5 });
  await call('trigger-elicitation-request', {});
  await cancelAfterwards(seen, (options) => call('trigger-long-running-operation', { duration: 2, steps: 2 }, options));
  const { resources } = await client.listResources();
  await client.listResourceTemplates();
  const [resource] = resources;
  await client.readResource({ uri: resource!.uri });
  await client.subscribeResource({ uri: resource!.uri });
  await call('toggle-subscriber-updates', {});
  await untilSeen(seen, 'updated');
  await call('toggle-subscriber-updates', {});
  await client.unsubscribeResource({ uri: resource!.uri });
  const { prompts } = await client.listPrompts();
  await client.getPrompt({ name: prompts[0]!.name });
  await client.setLoggingLevel('debug');
  // On and off: while it is on, the server does not end by itself.
  await call('toggle-simulated-logging', {});
  await call('toggle-simulated-logging', {});
}

async function playModern({ client, call, seen }: Session): Promise<void> {
  const { tools } = await client.listTools();
  seen.push(`${tools.length} tools`);
  await call('echo', { message: 'hello' });
  await call('ask', {});
  await call('steps', {}, { onprogress: () => undefined });
  await cancelAfterwards(seen, (options) => call('hang', {}, options));
  await call('no-such-tool', {}).catch(() => seen.push('an unknown tool'));
  const subscription = await (client as ClientTwo).listen({ toolsListChanged: true });
  await call('change', {});
  await untilSeen(seen, 'tools changed');
  await subscription.close();
  await call('echo', { message: 'last' });
}

async function untilSeen(seen: readonly string[], word: string): Promise<void> {
  while (!seen.includes(word)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Begins a call, and cancels it once it is with the server. */
async function cancelAfterwards(seen: string[], begin: (options: object) => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const ended = begin({ signal: stop.signal }).catch(() => seen.push('cancelled'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  stop.abort();
  await ended;
}
