/** Sessions of the official clients of both generations, recorded on both sides of the proxy. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as ClientTwo } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTwo } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import * as types from '@modelcontextprotocol/sdk/types.js';
import { bin } from '../../harness/switchgear-bin.ts';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const packages = pathOf('../node_modules/@modelcontextprotocol/');

/** The commands of the servers. */
export const servers = {
  everything: [process.execPath, join(packages, 'server-everything/dist/index.js'), 'stdio'],
  modern: [process.execPath, pathOf('./modern-server.ts')],
} as const;

/** The command that starts a server behind the proxy. */
export function proxied(folder: string, command: readonly string[]): readonly string[] {
  const store = `sqlite:${join(folder, 'state.db')}`;
  return [process.execPath, bin, 'mcp', '--store', store, '--name', 'everything', '--', ...command];
}

/** The bytes of a session: what the client and the server have sent, at either end. */
export interface Recording {
  readonly client: Sides;
  /** Absent without the proxy. */
  readonly server?: Sides;
  /** What the program of the client has seen. */
  readonly seen: readonly string[];
}

interface Sides {
  readonly sent: string;
  readonly received: string;
}

type Program = (client: Session) => Promise<void>;

/** The parts of both clients that a program uses. */
export interface Session {
  readonly seen: string[];
  call(tool: string, input: object, options?: object): Promise<unknown>;
  readonly client: ClientOne | ClientTwo;
}

export const generations = {
  'client 1.x': { server: 'everything', connect: connectOne, program: playLegacy },
  'client 2.x': {
    server: 'everything',
    connect: (command, env) => connectTwo(command, env, 'legacy'),
    program: playLegacy,
  },
  'client 2.x, 2026-07-28': {
    server: 'modern',
    connect: (command, env) => connectTwo(command, env, { pin: '2026-07-28' }),
    program: playModern,
  },
} satisfies Record<string, Generation>;

interface Generation {
  readonly server: keyof typeof servers;
  readonly connect: (command: readonly string[], env: Record<string, string>) => Promise<Session>;
  readonly program: Program;
}

/** Plays the program of a generation, with or without the proxy. */
export async function record(name: keyof typeof generations, folder: string, isProxied: boolean): Promise<Recording> {
  const { server, connect, program }: Generation = generations[name];
  const file = (side: string) => join(folder, `${name}-${isProxied ? 'proxied' : 'direct'}-${side}`);
  const tee = (side: string, command: readonly string[]) => [
    process.execPath,
    pathOf('./tee.ts'),
    file(side),
    ...command,
  ];
  const command = isProxied ? proxied(folder, tee('server', servers[server])) : servers[server];
  const session = await connect(tee('client', command), { PATH: process.env.PATH ?? '', HOME: folder });
  await program(session);
  await session.client.close();
  const sides = (side: string) => ({
    sent: readFileSync(`${file(side)}.in`, 'utf8'),
    received: readFileSync(`${file(side)}.out`, 'utf8'),
  });
  return { client: sides('client'), ...(isProxied && { server: sides('server') }), seen: session.seen };
}

const about = { name: 'driver', version: '1' };
const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } };
const sampled = { model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled text' } };
const elicited = { action: 'accept', content: { name: 'x', colour: 'blue' } };

async function connectOne([program = '', ...args]: readonly string[], env: Record<string, string>): Promise<Session> {
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
  await client.connect(new StdioOne({ command: program, args, env, stderr: 'ignore' }));
  const call = (name: string, input: object, options = {}) =>
    client.callTool({ name, arguments: { ...input } }, undefined, options);
  return { client, seen, call };
}

async function connectTwo(
  [program = '', ...args]: readonly string[],
  env: Record<string, string>,
  mode: 'legacy' | { readonly pin: '2026-07-28' },
): Promise<Session> {
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
  await client.connect(new StdioTwo({ command: program, args, env, stderr: 'ignore' }));
  const call = (name: string, input: object, options = {}) =>
    client.callTool({ name, arguments: { ...input } }, options);
  return { client, seen, call };
}

/** Uses everything that the older protocol has. */
async function playLegacy({ client, call, seen }: Session): Promise<void> {
  // The server asks for roots by a timer, and tells in its log that it got them.
  while (!seen.includes('logging')) await new Promise((resolve) => setTimeout(resolve, 5));
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
  await call('echo', { message: 'last' });
}

/** Begins a call, and cancels it once it is with the server. */
async function cancelAfterwards(seen: string[], begin: (options: object) => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const ended = begin({ signal: stop.signal }).catch(() => seen.push('cancelled'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  stop.abort();
  await ended;
}
