/** `switchgear chain`: runs chain files, and looks at runs, checks and draws them. */

import { type Command, type Terminal, verbError } from '../command.ts';

type ChainVerb = (args: readonly string[], terminal: Terminal) => number | Promise<number>;

/** Each verb in a file that is read only when it is meant. */
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
    'chain resume ID                  resume a run that was cut off, waits for an answer, or was throttled',
    'chain list [--all]               list runs that are not over, or all',
    'chain show ID [--outputs]        show what happened in a run, step by step',
    'chain cancel ID                  stop a run, wherever it runs',
    'chain resolve ID done|redo       settle a step in doubt: it was done, or runs again [--output JSON]',
    'chain lint FILE...               print the errors and warnings of chain files',
    'chain graph FILE                 print a chain as a Mermaid diagram',
  ],
  details: [
    '',
    'run and resume also take:',
    '  --mcp FILE     the mcpServers JSON; else .mcp.json or mcp.json beside the chain',
    '  --policy FILE  the policy; else the one of this folder',
    '  --explain      print what every rule saw before each step',
    '  --no-wait      leave a run that asks a person as waiting',
    '  --verbose      print what MCP servers write to their stderr',
    'run also takes:',
    '  --plan FILE    a text of a model with a <nyaya> block: its rules may only tighten',
    '  --id ID        a name for the run',
    'All but lint and graph take --store, and all but graph --json. cancel and resolve take --by NAME.',
    '',
    'Exit codes of run and resume: 0 done, 1 a step failed, 2 wrong usage or a wrong file, 3 stopped by a rule,',
    'a person or a limit, 4 throttled, 5 in doubt, 6 waiting for an answer.',
  ],
  async run([verb, ...args], terminal) {
    const load = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (load === undefined) throw verbError('chain', Object.keys(verbs), verb);
    return (await load())(args, terminal);
  },
};
