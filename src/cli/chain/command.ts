/** The command `switchgear chain`: runs, checks and draws chain files, and shows their runs. */

import { type Command, type Terminal, verbError } from '../command.ts';

type ChainVerb = (args: readonly string[], terminal: Terminal) => number | Promise<number>;

/** The code of each subcommand is loaded only when it is used. */
const verbs: Readonly<Record<string, () => Promise<ChainVerb>>> = {
  run: async () => (await import('./run.ts')).runChain,
  resume: async () => (await import('./run.ts')).resumeChain,
  list: async () => (await import('./runs.ts')).listChainRuns,
  show: async () => (await import('./runs.ts')).showChainRun,
  cancel: async () => (await import('./runs.ts')).cancelChainRun,
  resolve: async () => (await import('./runs.ts')).resolveChainRun,
  lint: async () => (await import('./files.ts')).lintChains,
  graph: async () => (await import('./files.ts')).graphChain,
};

export const command: Command = {
  usage: [
    'chain run FILE [--param K=V]...  run a chain [--mcp FILE] [--plan FILE] [--explain] [--no-wait] [--id ID]',
    'chain resume ID                  resume a run that was interrupted, waits for an answer, or was throttled',
    'chain list [--all]               list unfinished runs, or all',
    'chain show ID [--outputs]        show what happened in a run, step by step',
    'chain cancel ID                  stop a run, also one of another process',
    'chain resolve ID done|redo       settle a step in doubt: it was done, or must run again [--output JSON]',
    'chain lint FILE...               print the errors and warnings of chain files',
    'chain graph FILE                 print a chain as a Mermaid diagram',
  ],
  details: [
    '',
    'run and resume also take:',
    '  --mcp FILE     the mcpServers JSON; the default is .mcp.json or mcp.json beside the chain',
    '  --policy FILE  the policy; the default is that of this folder',
    '  --explain      print what every rule saw before each step',
    '  --no-wait      do not wait for a person: exit with code 6, and resume the run later',
    '  --verbose      print the stderr of MCP servers',
    '  --grace TIME   the time that programs which a shell step leaves running have to end; 5s by default',
    '  --leave        leave such programs running; --wait-tree waits for them within the limits',
    'run also takes:',
    '  --plan FILE    a text of a model with a <nyaya> block, whose rules can only be stricter',
    '  --id ID        a name for the run',
    'All except lint and graph take --store; all except graph take --json. cancel and resolve take --by NAME.',
    '',
    'Exit codes of run and resume: 0 done, 1 a step failed, 2 wrong usage or an invalid file, 3 stopped by a rule,',
    'a person or a limit, 4 throttled, 5 in doubt, 6 waiting for an answer.',
  ],
  async run([verb, ...args], terminal) {
    const load = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (load === undefined) throw verbError('chain', Object.keys(verbs), verb);
    return (await load())(args, terminal);
  },
};
