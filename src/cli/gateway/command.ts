/** The command `switchgear gateway`: meters model calls on their way to the provider, and enforces budgets. */

import { type Command, exitCodes, readArgs, usageError } from '../command.ts';
import { listenValueOptions, parseListenOptions } from '../listen-options.ts';
import { parseDollars, parsePort, parseWholeNumber } from '../option-values.ts';
import { waitForStop } from '../wait-for-stop.ts';
import type { GatewayCommandOptions } from './open-gateway.ts';
import { parseUpstreams } from './upstream-urls.ts';

const defaultPort = 4777;
const limitOptions = ['--max-spend', '--max-tokens', '--max-model-calls'];
const valueOptions = [
  '--store',
  '--policy',
  '--port',
  ...listenValueOptions,
  '--upstream',
  '--fallback',
  '--allow-path',
  ...limitOptions,
];

export const command: Command = {
  usage: [
    'gateway [options]                meter model calls and enforce budgets between agents and providers',
    'gateway key add NAME             add a key for a client of the gateway, and print it once',
    'gateway key list                 list the keys of a store',
    'gateway key remove NAME          remove a key',
  ],
  details: [
    '',
    'Point the base URL of an agent at the printed address, or at …/task/NAME below it for a task of its own.',
    '  --upstream URL       the provider of all APIs; or one each: anthropic=URL,openai=URL,gemini=URL; without it',
    '                       the upstreams of the policy, or else those of the three providers',
    '  --fallback URL       the provider of the same API while the circuit of a model is open; written as --upstream',
    '  --max-spend DOLLARS  --max-tokens N  --max-model-calls N   limits of each task, over those of the policy',
    '  --observe            refuse nothing; what would be refused is in the journal, and the first of it on stderr',
    '  --no-tools           do not look for loops in the calls of tools that requests repeat',
    '  --allow-path PATHS   paths whose cost cannot be metered, allowed despite a limit of money: /v1/images/*',
    '  --port N             4777 by default; 0 = any free one',
    '  --host ADDRESS       the address to listen on; 127.0.0.1 by default; others need keys and TLS:',
    '  --tls-cert FILE, --tls-key FILE  serve over TLS; or --insecure for plain HTTP, as behind a reverse proxy',
    '  --allow-host NAMES   more hosts under which the gateway is addressed: NAME or NAME:PORT, with commas',
    '  --policy FILE   --store STORE',
    'gateway key add takes limits of the key:',
    "  --budget '$20/day'   money in a minute, hour, day, week or month; without one for the life of the key",
    "  --models 'claude-*'  the models that it may call, with commas",
    '  --requests-per-minute N  --tokens-per-minute N',
  ],
  async run(args, terminal) {
    if (args[0] === 'key') return (await import('./key.ts')).runKeyVerb(args.slice(1), terminal);
    const options = parseGatewayOptions(args);
    const { runGateway } = await import('./open-gateway.ts');
    await runGateway(options, terminal, waitForStop(terminal));
    return exitCodes.ok;
  },
};

function parseGatewayOptions(args: readonly string[]): GatewayCommandOptions {
  if (args.includes('--'))
    throw usageError('gateway starts no agent: for one agent, use switchgear run --gateway -- COMMAND');
  const parsedArgs = readArgs(args, ['--observe', '--no-tools', '--insecure'], 0, valueOptions);
  const { values, switches } = parsedArgs;
  const { isLocal, ...listen } = parseListenOptions(parsedArgs);
  const maxSpendCents = parseDollars(values, '--max-spend');
  const maxTokens = parseWholeNumber(values, '--max-tokens');
  const maxModelCalls = parseWholeNumber(values, '--max-model-calls');
  return {
    parsedArgs,
    ...listen,
    needsKey: !isLocal,
    port: parsePort(values, defaultPort),
    upstreams: parseUpstreams('--upstream', values.get('--upstream')),
    fallbacks: parseUpstreams('--fallback', values.get('--fallback')),
    observe: switches.has('--observe'),
    watchesTools: !switches.has('--no-tools'),
    allowedPaths: parsePaths(values.get('--allow-path') ?? ''),
    limits: {
      ...(maxSpendCents !== undefined && { maxSpendCents }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(maxModelCalls !== undefined && { maxModelCalls }),
    },
  };
}

function parsePaths(text: string): readonly string[] {
  const paths = text.split(',').filter((each) => each !== '');
  const wrong = paths.find((each) => !/^[/*]/.test(each));
  if (wrong === undefined) return paths;
  throw usageError(`--allow-path must be paths such as /v1/images/*, got ${JSON.stringify(wrong)}`);
}
