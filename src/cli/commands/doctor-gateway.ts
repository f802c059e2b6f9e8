/** The part of `switchgear doctor` that checks the gateway: does a halt reach the clients that are led to it? */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SettingsFolders } from '../../hooks/hosts/settings-paths.ts';
import { isLoopback } from '../../supervisor/peer-process.ts';
import { readArgs, type Terminal } from '../command.ts';
import { type GatewayClient, gatewayClients, listBaseUrlSettings } from '../gateway/clients/gateway-clients.ts';
import type { Finding } from './doctor.ts';

export interface GatewayCheckOptions {
  /** The only client to check. */
  readonly client: string | undefined;
  /** Whether the gateway is tested even if no client is led to one. */
  readonly isAsked: boolean;
  /** Whether the policy in force refuses anything. */
  readonly refuses: boolean;
  readonly policy: string | undefined;
}

/** Finds the clients that are led to a gateway, and tests that a halt reaches each of them. */
export async function checkGateway(
  { client, isAsked, refuses, policy }: GatewayCheckOptions,
  folders: SettingsFolders,
  terminal: Terminal,
): Promise<readonly Finding[]> {
  const wanted = gatewayClients.filter((each) => client === undefined || each === client);
  const led = wanted.flatMap((each) => findGatewayUrls(each, folders).map((url) => ({ client: each, url })));
  if (led.length === 0 && !isAsked) return [];
  const findings: Finding[] = [];
  for (const { client: each, url } of led) findings.push(await askHealth(each, url));
  const tested = led.length === 0 ? wanted : [...new Set(led.map((each) => each.client))];
  findings.push(...(await testHalts(tested, refuses, policy, terminal)));
  return findings;
}

/** The base URLs on this machine in the settings of a client. */
function findGatewayUrls(client: GatewayClient, folders: SettingsFolders): readonly URL[] {
  return [true, false].flatMap((isProject) => {
    const [place] = listBaseUrlSettings(client, isProject, folders);
    try {
      const text = existsSync(place!.path) ? readFileSync(place!.path, 'utf8') : '';
      const url = URL.parse(place!.find(text).read(text) ?? '');
      return url !== null && isLoopback(url.hostname.replace(/^\[|\]$/g, '')) ? [url] : [];
    } catch {
      return []; // The client itself reports settings that it cannot read.
    }
  });
}

/** Whether a gateway answers at the base URL of a client. */
async function askHealth(client: GatewayClient, url: URL): Promise<Finding> {
  const start = `start it with: switchgear gateway${url.port === '4777' ? '' : ` --port ${url.port || '80'}`}`;
  try {
    const answer = await fetch(new URL('/health', url), { signal: AbortSignal.timeout(healthTimeoutMs) });
    if ((await answer.text()) === '{"status":"ok"}')
      return { ok: true, message: `${client}: the gateway at ${url.origin} answers` };
    return { ok: false, message: `${client}: another program than the gateway answers at ${url.origin}` };
  } catch {
    return { ok: false, message: `${client}: no gateway answers at ${url.origin}: ${start}` };
  }
}

const healthTimeoutMs = 3_000;

/** A call in the API of a client, and the answer of a provider that uses up the money of the test. */
interface TestCall {
  readonly path: string;
  readonly body: object;
  readonly answer: object;
  /** The status with which the client ends after one request. */
  readonly status: number;
}

const many = 1_000_000;
const chat: TestCall = {
  path: '/v1/chat/completions',
  body: { model: 'gpt-5', max_completion_tokens: 10, messages: [{ role: 'user', content: 'hello' }] },
  answer: { model: 'gpt-5', choices: [], usage: { prompt_tokens: many, completion_tokens: many } },
  status: 402,
};
const testCalls: Readonly<Record<GatewayClient, TestCall>> = {
  'claude-code': {
    path: '/v1/messages',
    body: { model: 'claude-sonnet-4-5', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] },
    answer: { type: 'message', role: 'assistant', content: [], usage: { input_tokens: many, output_tokens: many } },
    status: 402,
  },
  codex: {
    path: '/v1/responses',
    body: { model: 'gpt-5', max_output_tokens: 16, input: 'hello' },
    answer: { object: 'response', status: 'completed', output: [], usage: { input_tokens: many, output_tokens: many } },
    status: 400,
  },
  gemini: {
    path: '/v1beta/models/gemini-2.5-pro:generateContent',
    body: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }], generationConfig: { maxOutputTokens: 10 } },
    answer: { candidates: [], usageMetadata: { promptTokenCount: many, candidatesTokenCount: many } },
    status: 402,
  },
  opencode: chat,
};

/** Runs a gateway with the policy in force, in a temporary store and before a provider of its own. */
async function testHalts(
  clients: readonly GatewayClient[],
  refuses: boolean,
  policy: string | undefined,
  terminal: Terminal,
): Promise<readonly Finding[]> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-doctor-'));
  const provider = createServer((request, response) => {
    const { answer } = Object.values(testCalls).find(({ path }) => path === request.url) ?? chat;
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const upstream = new URL(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`);
  const { runGateway } = await import('../gateway/open-gateway.ts');
  const stop = Promise.withResolvers<void>();
  const started = Promise.withResolvers<string>();
  const args = ['--store', `sqlite:${join(folder, 'state.db')}`, ...(policy === undefined ? [] : ['--policy', policy])];
  const ended = runGateway(
    {
      parsedArgs: readArgs(args, [], 0, ['--store', '--policy']),
      ...{ host: '127.0.0.1', port: 0, observe: false, watchesTools: true, allowedPaths: [] },
      limits: { maxSpendCents: 100 },
      upstreams: { anthropic: upstream, openai: upstream, gemini: upstream },
      fallbacks: {},
    },
    { ...terminal, out: (line) => started.resolve(line), err: () => undefined },
    stop.promise,
  );
  ended.catch(started.reject);
  try {
    const url = await started.promise;
    return await Promise.all(clients.map((client) => testHalt(client, url, refuses)));
  } catch (error) {
    return [{ ok: false, message: `the gateway cannot be tested: ${(error as Error).message}` }];
  } finally {
    stop.resolve();
    await ended.catch(() => undefined);
    provider.closeAllConnections();
    provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sends a call that passes and uses up the budget of its task, and one that must be refused. */
async function testHalt(client: GatewayClient, url: string, refuses: boolean): Promise<Finding> {
  const { path, body, status } = testCalls[client];
  const post = () =>
    fetch(`${url}/task/doctor-${client}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const first = await post();
  await first.arrayBuffer();
  if (first.status !== 200)
    return { ok: false, message: `${client}: a call within the limit got ${first.status} from the gateway` };
  const second = await post();
  const text = await second.text();
  const isRefused = second.status === status && second.headers.get('x-should-retry') === 'false';
  if (isRefused && text.includes('Switchgear: '))
    return { ok: true, message: `${client}: a halt reaches the client: status ${status}, which it does not retry` };
  if (!refuses && second.status === 200)
    return { ok: true, message: `${client}: the gateway passes everything, as the policy says` };
  return { ok: false, message: `${client}: a call beyond the limit got ${second.status}: ${text.slice(0, 200)}` };
}
