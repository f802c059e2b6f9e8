/** Which agent a command starts, how to have it print events, and who reads them. */

import type { StreamMapping } from '../core/event-mapping.ts';
import { claudeCodeReader } from './claude-code/stream.ts';
import { codexReader } from './codex/stream.ts';
import { geminiReader } from './gemini/stream.ts';
import { opencodeReader } from './opencode/stream.ts';
import { heartbeatReader } from './other/heartbeat.ts';
import { mappedJsonReader } from './other/mapped-json.ts';
import { simpleEventReader } from './other/seed-events.ts';
import type { AgentCommand } from './reading/agent-command.ts';
import {
  type Argument,
  argumentsOf,
  flagOf,
  flagsWithout,
  type Grammar,
  placeOf,
  wordsOf,
} from './reading/command-line.ts';
import type { Reader } from './reading/reader.ts';

export interface ReaderForOptions {
  /** How to read a program that is none of the known ones. */
  readonly mapping?: StreamMapping;
}

/** What a known agent makes of its arguments. `before` ends with the program, and its subcommand where it needs one. */
interface Known {
  readonly names: readonly string[];
  readonly packages: readonly string[];
  readonly grammar: Grammar;
  take(before: readonly string[], found: readonly Argument[]): AgentCommand | undefined;
}

const claude: Known = {
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
  take(before, found) {
    const headless = flagOf(found, '-p', '--print') !== undefined;
    const flags = ['--output-format', 'stream-json', '--verbose', '--include-partial-messages'];
    const format = flagOf(found, '--output-format')?.values[0];
    const others = flagsWithout(found, '-p', '--print', '-r', '--resume', '-c', '--continue', '--session-id');
    return {
      cli: 'claude-code',
      ...streaming(before, found, headless, format, 'stream-json', flags),
      prompt: wordsOf(found)[0],
      model: flagOf(found, '--model')?.values[0],
      session: flagOf(found, '-r', '--resume', '--session-id')?.values[0],
      signal: 'SIGINT',
      resume: (session, prompt) => [...before, '-p', prompt, '--resume', session, ...others],
      reader: claudeCodeReader,
    };
  },
};

const codex: Known = {
  names: ['codex'],
  packages: ['@openai/codex'],
  grammar: {
    valued: (
      '-m --model -c --config -C --cd -s --sandbox -p --profile -i --image -a --ask-for-approval --output-schema ' +
      '-o --output-last-message --color --add-dir --enable --disable --local-provider'
    ).split(' '),
  },
  take(before, found) {
    const at = found.findIndex(({ flag }) => flag === undefined);
    const headless = /^e(xec)?$/.test(found[at]?.words[0] ?? '');
    const start = headless ? [...before, ...found.slice(0, at + 1).flatMap(({ words }) => words)] : before;
    const rest = headless ? found.slice(at + 1) : found;
    const words = wordsOf(rest);
    const isResumed = words[0] === 'resume';
    const model = flagOf(found, '-m', '--model')?.values[0];
    const json = flagOf(rest, '--json', '--experimental-json') && 'json';
    const resumed = isResumed || flagOf(rest, '--last') !== undefined;
    const others = flagsWithout(rest, '--last', '--all');
    return {
      cli: 'codex',
      ...streaming(start, rest, headless, json, 'json', ['--json']),
      prompt: isResumed ? words[2] : words[0],
      model,
      session: isResumed ? words[1] : undefined,
      signal: 'SIGINT',
      resume: (session, prompt) => (headless ? [...start, ...others, 'resume', session, prompt] : undefined),
      reader: () => codexReader({ resumed, ...(model && { model }) }),
    };
  },
};

const gemini: Known = {
  names: ['gemini'],
  packages: ['@google/gemini-cli'],
  grammar: {
    valued: (
      '-m --model -p --prompt -i --prompt-interactive -o --output-format --approval-mode -r --resume ' +
      '--session-file --session-id'
    ).split(' '),
    listed: '--include-directories -e --extensions --allowed-tools --allowed-mcp-server-names'.split(' '),
  },
  take(before, found) {
    const asked = flagOf(found, '-p', '--prompt');
    const format = flagOf(found, '-o', '--output-format')?.values[0];
    const headless = asked !== undefined || format !== undefined;
    const others = flagsWithout(found, '-p', '--prompt', '-r', '--resume', '-i', '--prompt-interactive');
    return {
      cli: 'gemini',
      ...streaming(before, found, headless, format, 'stream-json', ['--output-format', 'stream-json']),
      prompt: asked?.values[0] ?? wordsOf(found)[0],
      model: flagOf(found, '-m', '--model')?.values[0],
      session: flagOf(found, '-r', '--resume')?.values[0],
      signal: 'SIGTERM',
      resume: (session, prompt) => [...before, '--resume', session, '-p', prompt, ...others],
      reader: geminiReader,
    };
  },
};

const opencode: Known = {
  names: ['opencode'],
  packages: ['opencode-ai'],
  grammar: {
    valued: (
      '-m --model -s --session --agent --format -f --file --title --attach --port --variant --dir --command ' +
      '--log-level -p --password'
    ).split(' '),
  },
  take(before, found) {
    const at = found.findIndex(({ flag }) => flag === undefined);
    const headless = found[at]?.words[0] === 'run';
    const start = headless ? [...before, ...found.slice(0, at + 1).flatMap(({ words }) => words)] : before;
    const rest = headless ? found.slice(at + 1) : found;
    const model = flagOf(found, '-m', '--model')?.values[0]?.replace(/^[^/]*\//, '');
    const format = flagOf(rest, '--format')?.values[0];
    const others = flagsWithout(rest, '-s', '--session', '-c', '--continue', '--fork');
    return {
      cli: 'opencode',
      ...streaming(start, rest, headless, format, 'json', ['--format', 'json']),
      prompt: wordsOf(rest).join(' ') || undefined,
      model,
      session: flagOf(rest, '-s', '--session')?.values[0],
      signal: 'SIGTERM',
      resume: (session, prompt) => (headless ? [...start, '--session', session, ...others, prompt] : undefined),
      reader: () => opencodeReader(model === undefined ? {} : { model }),
    };
  },
};

/** Whether a command prints events, and what it takes that it does. A person who asked for a format gets that one. */
function streaming(
  start: readonly string[],
  found: readonly Argument[],
  headless: boolean,
  format: string | undefined,
  wanted: string,
  flags: readonly string[],
): Pick<AgentCommand, 'headless' | 'stream' | 'command' | 'added'> {
  const words = found.flatMap((each) => each.words);
  const stream = format === wanted ? 'events' : headless && format === undefined ? 'asked' : 'text';
  const added = stream === 'asked' ? flags.filter((flag) => !words.includes(flag)) : [];
  return { headless, stream, added, command: [...start, ...added, ...words] };
}

/** What a command is: one of the known agents, or any program whose lines are read as they come. */
export function readerFor(command: readonly string[], { mapping }: ReaderForOptions = {}): AgentCommand {
  for (const known of [claude, codex, gemini, opencode]) {
    const at = placeOf(command, known.names, known.packages);
    if (at === -1) continue;
    const before = command.slice(0, at + 1);
    const agent = known.take(before, argumentsOf(command.slice(at + 1), known.grammar));
    if (agent !== undefined) return agent.stream === 'text' ? { ...agent, reader: fallbackReader } : agent;
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
    reader: mapping === undefined ? fallbackReader : mappedReader(mapping),
  };
}

/** One that is wrong is told now: later the program would run, and nobody could read it. */
function mappedReader(mapping: StreamMapping): () => Reader {
  const made = () => heartbeatReader(mappedJsonReader(mapping));
  made();
  return made;
}

/** A reader of programs that print text, heartbeats and plain events among it included. */
export function fallbackReader(): Reader {
  return heartbeatReader(simpleEventReader());
}
