/** Tells by a command line what a process is: an agent CLI, another program, a shell, or a launcher of others. */

import { basename } from 'node:path';

/** The names of shells; a login shell has a dash before its name. */
export const shellName = /^-?(ba|da|z|k|mk|a|fi|c|tc)?sh$/;
const launcherName = /^(npm|npx|pnpm|pnpx|yarn|bunx?|env|timeout|nice|nohup|stdbuf)(-cli)?(\.[cm]?js)?$/;
const agentName = /^(claude|codex|gemini)(-cli)?(\.[cm]?js|\.exe)?$/;
const agentPath = /[\\/](claude-code|@openai[\\/]codex|gemini-cli)[\\/]/;

/** What a process is. */
export type CommandKind = 'agent' | 'program' | 'launcher' | 'shell command' | 'interactive shell';

/** A shell with a script file counts as a program, unless the script is a launcher of hooks. */
export function recognizeCommand(words: readonly string[]): CommandKind {
  const [program = '', ...args] = words;
  const name = basename(program);
  if (runsHook(words)) return 'launcher';
  const script = /^(node|bun|deno)$/.test(name) ? (args.find((arg) => !arg.startsWith('-')) ?? '') : '';
  if (agentName.test(name) || agentName.test(basename(script)) || agentPath.test(script)) return 'agent';
  if (shellName.test(name)) {
    const firstWord = args.findIndex((arg) => !/^[-+]/.test(arg));
    const options = firstWord === -1 ? args : args.slice(0, firstWord);
    if (options.some((option) => /^-\w*c/.test(option))) return 'shell command';
    return firstWord === -1 ? 'interactive shell' : 'program';
  }
  const isLauncher =
    launcherName.test(name) || (/^(node|bun)$/.test(name) && launcherName.test(basename(args[0] ?? '')));
  return isLauncher ? 'launcher' : 'program';
}

const hostArgument = /^(claude-code|codex|gemini)$/;

/** Whether the words of a command line are those of a hook: it is the hook's own launcher, and no program in a word. */
function runsHook(words: readonly string[]): boolean {
  if (/^(-e|--eval|-c|-p)$/.test(words[1] ?? '') && !shellName.test(basename(words[0] ?? ''))) return false;
  return words.some((word, at) => at > 0 && word === 'hook' && hostArgument.test(words[at + 1] ?? ''));
}
