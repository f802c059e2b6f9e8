/** Recognises the agent that a command starts, adds the flags that make it print events, and chooses the reader. */

import type { StreamMapping } from '../core/event-mapping.ts';
import { claudeCodeReader } from './claude-code/stream.ts';
import { codexReader } from './codex/stream.ts';
import { eventsByShapeReader } from './events-by-shape.ts';
import { geminiReader } from './gemini/stream.ts';
import { opencodeReader } from './opencode/stream.ts';
import { type HeartbeatUse, heartbeatReader } from './other/heartbeat.ts';
import { mappedJsonReader } from './other/mapped-json.ts';
import type { AgentCommand } from './reading/agent-command.ts';
import {
  type Argument,
  findFlag,
  findProgram,
  flagsWithout,
  type Grammar,
  listPositionals,
  parseArguments,
} from './reading/command-line.ts';
import type { Reader } from './reading/reader.ts';

/** Options of `readerFor`. */
export interface ReaderForOptions {
  /**
   * The mapping of JSON lines of an unknown program.
   * @default none
   */
  readonly mapping?: StreamMapping;
  /**
   * Whether `[heartbeat]` lines always open tasks with limits of their own. Without it they do so only for an unknown
   * program that prints structured events beside them.
   * @default false
   */
  readonly heartbeats?: boolean;
}

/** Interprets the arguments of a known agent. `before` ends with the program, or with its subcommand. */
interface KnownAgent {
  readonly names: readonly string[];
  readonly packages: readonly string[];
  readonly grammar: Grammar;
  parse(launcher: readonly string[], args: readonly Argument[]): AgentCommand | undefined;
}

const claude: KnownAgent = {
  names: ['claude'],
  packages: ['@anthropic-ai/claude-code'],
  grammar: {
    valued: (
      '--output-format --input-format --model --resume -r --session-id --append-system-prompt --system-prompt ' +
      '--permission-mode --permission-prompt-tool --max-turns --max-budget-usd --settings --setting-sources --agent ' +
      '--agents --fallback-model --effort --json-schema --append-system-prompt-file --system-prompt-file'
    ).split(' '),
    listed: (
      '--allowedTools --allowed-tools --disallowedTools --disallowed-tools --add-dir --mcp-config --tools --betas ' +
      '--plugin-dir'
    ).split(' '),
  },
  parse(launcher, args) {
    const headless = findFlag(args, '-p', '--print') !== undefined;
    const flags = ['--output-format', 'stream-json', '--verbose', '--include-partial-messages'];
    const format = findFlag(args, '--output-format')?.values[0];
    const otherFlags = flagsWithout(args, '-p', '--print', '-r', '--resume', '-c', '--continue', '--session-id');
    return {
      cli: 'claude-code',
      ...chooseStream(launcher, args, headless, format, 'stream-json', flags),
      prompt: listPositionals(args)[0],
      model: findFlag(args, '--model')?.values[0],
      session: findFlag(args, '-r', '--resume', '--session-id')?.values[0],
      signal: 'SIGINT',
      resume: (session, prompt) => [...launcher, '-p', prompt, '--resume', session, ...otherFlags],
      reader: claudeCodeReader,
    };
  },
};

const codex: KnownAgent = {
  names: ['codex'],
  packages: ['@openai/codex'],
  grammar: {
    valued: (
      '-m --model -c --config -C --cd -s --sandbox -p --profile -i --image -a --ask-for-approval --output-schema ' +
      '-o --output-last-message --color --add-dir --enable --disable --local-provider'
    ).split(' '),
  },
  parse(launcher, args) {
    const at = args.findIndex(({ flag }) => flag === undefined);
    const headless = /^e(xec)?$/.test(args[at]?.words[0] ?? '');
    const start = headless ? [...launcher, ...args.slice(0, at + 1).flatMap(({ words }) => words)] : launcher;
    const rest = headless ? args.slice(at + 1) : args;
    const words = listPositionals(rest);
    const isResumed = words[0] === 'resume';
    const model = findFlag(args, '-m', '--model')?.values[0];
    const json = findFlag(rest, '--json', '--experimental-json') && 'json';
    const resumed = isResumed || findFlag(rest, '--last') !== undefined;
    const otherFlags = flagsWithout(rest, '--last', '--all');
    return {
      cli: 'codex',
      ...chooseStream(start, rest, headless, json, 'json', ['--json']),
      prompt: isResumed ? words[2] : words[0],
      model,
      session: isResumed ? words[1] : undefined,
      signal: 'SIGINT',
      resume: (session, prompt) => (headless ? [...start, ...otherFlags, 'resume', session, prompt] : undefined),
      reader: () => codexReader({ resumed, ...(model && { model }) }),
    };
  },
};

const gemini: KnownAgent = {
  names: ['gemini'],
  packages: ['@google/gemini-cli'],
  grammar: {
    valued: (
      '-m --model -p --prompt -i --prompt-interactive -o --output-format --approval-mode -r --resume ' +
      '--session-file --session-id'
    ).split(' '),
    listed: '--include-directories -e --extensions --allowed-tools --allowed-mcp-server-names'.split(' '),
  },
  parse(launcher, args) {
    const promptFlag = findFlag(args, '-p', '--prompt');
    const format = findFlag(args, '-o', '--output-format')?.values[0];
    const headless = promptFlag !== undefined || format !== undefined;
    const otherFlags = flagsWithout(args, '-p', '--prompt', '-r', '--resume', '-i', '--prompt-interactive');
    return {
      cli: 'gemini',
      ...chooseStream(launcher, args, headless, format, 'stream-json', ['--output-format', 'stream-json']),
      prompt: promptFlag?.values[0] ?? listPositionals(args)[0],
      model: findFlag(args, '-m', '--model')?.values[0],
      session: findFlag(args, '-r', '--resume')?.values[0],
      signal: 'SIGTERM',
      resume: (session, prompt) => [...launcher, '--resume', session, '-p', prompt, ...otherFlags],
      reader: geminiReader,
    };
  },
};

const opencode: KnownAgent = {
  names: ['opencode'],
  packages: ['opencode-ai'],
  grammar: {
    valued: (
      '-m --model -s --session --agent --format -f --file --title --attach --port --variant --dir --command ' +
      '--log-level -p --password'
    ).split(' '),
  },
  parse(launcher, args) {
    const at = args.findIndex(({ flag }) => flag === undefined);
    const headless = args[at]?.words[0] === 'run';
    const start = headless ? [...launcher, ...args.slice(0, at + 1).flatMap(({ words }) => words)] : launcher;
    const rest = headless ? args.slice(at + 1) : args;
    const model = findFlag(args, '-m', '--model')?.values[0]?.replace(/^[^/]*\//, '');
    const format = findFlag(rest, '--format')?.values[0];
    const otherFlags = flagsWithout(rest, '-s', '--session', '-c', '--continue', '--fork');
    return {
      cli: 'opencode',
      ...chooseStream(start, rest, headless, format, 'json', ['--format', 'json']),
      prompt: listPositionals(rest).join(' ') || undefined,
      model,
      session: findFlag(rest, '-s', '--session')?.values[0],
      signal: 'SIGTERM',
      resume: (session, prompt) => (headless ? [...start, '--session', session, ...otherFlags, prompt] : undefined),
      reader: () => opencodeReader(model === undefined ? {} : { model }),
    };
  },
};

/** Decides whether a command prints events and which flags to add. A format that the command sets is kept. */
function chooseStream(
  start: readonly string[],
  args: readonly Argument[],
  headless: boolean,
  format: string | undefined,
  eventFormat: string,
  flags: readonly string[],
): Pick<AgentCommand, 'headless' | 'stream' | 'command' | 'added'> {
  const words = args.flatMap((each) => each.words);
  const stream = format === eventFormat ? 'events' : headless && format === undefined ? 'asked' : 'text';
  const added = stream === 'asked' ? flags.filter((flag) => !words.includes(flag)) : [];
  return { headless, stream, added, command: [...start, ...added, ...words] };
}

/**
 * Recognises a command: a known agent, or any program whose lines are read as text.
 * @example
 * import { readerFor } from 'switchgear/agents';
 *
 * const { cli, command, reader } = readerFor(['claude', '-p', 'Mend the tests.']);
 * console.log(cli, command.join(' '));
 * const events = reader().read('{"type":"system","subtype":"init"}');
 */
export function readerFor(
  command: readonly string[],
  { mapping, heartbeats = false }: ReaderForOptions = {},
): AgentCommand {
  for (const candidate of [claude, codex, gemini, opencode]) {
    const at = findProgram(command, candidate.names, candidate.packages);
    if (at === -1) continue;
    const launcher = command.slice(0, at + 1);
    const agent = candidate.parse(launcher, parseArguments(command.slice(at + 1), candidate.grammar));
    if (agent === undefined) continue;
    // The text of a known agent is written by a model.
    const reader = agent.stream === 'text' ? () => fallbackReader('never') : agent.reader;
    return {
      ...agent,
      reader: heartbeats
        ? () => heartbeatReader(agent.stream === 'text' ? eventsByShapeReader() : agent.reader())
        : reader,
    };
  }
  return {
    cli: 'other',
    headless: true,
    stream: mapping === undefined ? 'text' : 'events',
    command,
    added: [],
    prompt: undefined,
    model: undefined,
    session: undefined,
    signal: 'SIGTERM',
    resume: () => undefined,
    reader: makeOtherReader(mapping, heartbeats ? 'always' : 'beside-events'),
  };
}

/** Checks the mapping at once, so that an error is reported before the program starts. */
function makeOtherReader(mapping: StreamMapping | undefined, use: HeartbeatUse): () => Reader {
  if (mapping === undefined) return () => fallbackReader(use);
  const create = () => heartbeatReader(mappedJsonReader(mapping)); // A mapped program prints structured events.
  create();
  return create;
}

/** Creates a reader of programs that print text, heartbeats or plain JSON events. */
export function fallbackReader(heartbeats: HeartbeatUse = 'beside-events'): Reader {
  return heartbeatReader(eventsByShapeReader(), heartbeats);
}
