/** The command `switchgear serve`: the HTTP API over a store, and the tokens for it. */

import { userName } from '../../approvers/user-name.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { resolveWebhooks } from '../../server/alerts/resolve-webhooks.ts';
import { metricCompats } from '../../server/http/route.ts';
import type { Role } from '../../server/http/tokens.ts';
import { type ServeOptions, startServer } from '../../server/start-server.ts';
import { isBelowGuardedAgent } from '../../supervisor/guarded-agents.ts';
import { type Command, exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { listenValueOptions, parseListenOptions } from '../listen-options.ts';
import { parsePort } from '../option-values.ts';
import { createAlertSettingsReader } from '../policy/alert-settings.ts';
import { loadEffectivePolicy, placeOnStore } from '../policy/load-policy.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { waitForStop } from '../wait-for-stop.ts';
import { findTripSettings } from './breakers.ts';
import { runTokenVerb } from './serve-token.ts';

const defaultPort = 4770;
/** Headers that decide about a request, or hold a secret: none of them names a person. */
const ownHeaders = /^(authorization|proxy-authorization|cookie|host|origin|referer|x-switchgear|content-.*|sec-.*)$/i;
const valueOptions = [
  '--store',
  '--port',
  ...listenValueOptions,
  '--user-header',
  '--public-url',
  '--compat',
  '--policy',
];

export const command: Command = {
  usage: [
    'serve [--port N]                 serve the state and the inbox of a store over HTTP, on this machine',
    'serve token add NAME --role R    add a token for R, operator or viewer, and print it once',
    'serve token list                 list the tokens of a store',
    'serve token revoke NAME          revoke a token and its sessions',
  ],
  details: [
    '',
    'serve also takes:',
    '  --host ADDRESS       the address to listen on; 127.0.0.1 by default',
    '  --tls-cert FILE, --tls-key FILE  serve over TLS; another address than loopback needs it, or --insecure',
    '  --insecure           serve another address than loopback without TLS, as behind a reverse proxy',
    '  --allow-host NAMES   more hosts under which the server is addressed: NAME or NAME:PORT, with commas',
    '  --public-url URL     the address of the page in webhooks, as behind a reverse proxy',
    '  --user-header NAME   the header in which a reverse proxy names the person',
    '  --policy FILE        the policy with the thresholds of alerts and the webhooks; by default that of the folder',
    '  --store STORE        the store to serve; by default that of this machine',
    '  --compat resilience4j  add the metrics of breakers under the names of resilience4j',
    'The printed address has a token that is valid until the server ends. If the port is busy, the next free one',
    'is used.',
  ],
  async run(args, terminal) {
    if (args[0] === 'token') return runTokenVerb(args.slice(1), terminal);
    const parsedArgs = readArgs(args, ['--insecure'], 0, valueOptions);
    const options = parseServeOptions(parsedArgs);
    const policyOption = parsedArgs.values.get('--policy');
    const address = findStoreAddress(parsedArgs, terminal);
    await withStore(
      address,
      async (store) => {
        const startRole = await findStartRole(store, parsedArgs, terminal);
        const place = placeOnStore(store, terminal);
        const { policy } = await loadEffectivePolicy(policyOption, terminal, place);
        const readSettings = createAlertSettingsReader(policy, terminal, place, policyOption);
        const webhooks = resolveWebhooks(policy.settings.webhooks ?? [], terminal);
        for (const { name, problem } of webhooks)
          if (problem !== undefined) terminal.err(`switchgear: the webhook ${name} cannot be used: ${problem}`);
        const server = await startServer(store, {
          ...options,
          storeName: address.name,
          startRole,
          user: userName(),
          alerts: { settings: policy.settings.alerts, readSettings, webhooks },
          findTripSettings: (tool, secs) => findTripSettings(tool, secs, terminal, policyOption),
        });
        if (options.port !== 0 && server.port !== options.port)
          terminal.err(`switchgear: port ${options.port} is busy; using ${server.port}`);
        terminal.out(server.url);
        await waitForStop(terminal);
        await server.close();
      },
      { onLoss: terminal.err },
    );
    return exitCodes.ok;
  },
};

type ParsedServeOptions = Pick<
  ServeOptions,
  'host' | 'port' | 'tls' | 'allowedHosts' | 'userHeader' | 'publicUrl' | 'metricCompat'
>;

function parseServeOptions(parsedArgs: ParsedArgs): ParsedServeOptions {
  const { values } = parsedArgs;
  const { host, tls, allowedHosts } = parseListenOptions(parsedArgs);
  const userHeader = values.get('--user-header');
  if (userHeader !== undefined && !/^[\w-]{1,100}$/.test(userHeader))
    throw usageError(`--user-header must be the name of a header, got ${JSON.stringify(userHeader)}`);
  if (userHeader !== undefined && ownHeaders.test(userHeader))
    throw usageError(`--user-header must not be ${userHeader.toLowerCase()}: the server reads it for something else`);
  const publicUrl = parsePublicUrl(values.get('--public-url'));
  const metricCompat = parseCompat(values.get('--compat'));
  const port = parsePort(values, defaultPort);
  return { host, port, tls, userHeader, allowedHosts, publicUrl, metricCompat };
}

function parseCompat(text: string | undefined): ServeOptions['metricCompat'] {
  const known = metricCompats.find((each) => each === text);
  if (text === undefined || known !== undefined) return known;
  throw usageError(`--compat must be ${metricCompats.join(' or ')}, got ${JSON.stringify(text)}`);
}

function parsePublicUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.search + url.hash === '';
  if (isPlain) return url.href;
  throw usageError(`--public-url must be an address such as https://gear.example.com, got ${JSON.stringify(text)}`);
}

/** The printed token decides only if this process may: the printed text is as good as an answer. */
async function findStartRole(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<Role> {
  try {
    await identifyOperator(store, parsedArgs, terminal, 'loosen');
    return 'operator';
  } catch (error) {
    const isRefused = error instanceof SwitchgearError && error.code === 'operator_required';
    if (!isRefused || (await isBelowGuardedAgent(store, terminal.env))) throw error;
    terminal.err(
      'switchgear: an agent runs and may have started this server, so the printed token can only look; ' +
        'to decide, use a token of: switchgear serve token add NAME --role operator',
    );
    return 'viewer';
  }
}
