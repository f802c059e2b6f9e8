/** Tells by a command line what a process is: an agent CLI, another program, a shell, or a launcher of others. */

import { basename } from 'node:path';

/** The names of shells; a login shell has a dash before its name. */
export const shellName = /^-?((ba|da|z|k|mk|a|fi|c|tc|pw)?sh|nu|elvish)$/;
const launcherName = /^(npm|npx|pnpm|pnpx|yarn|bunx?|env|timeout|nice|nohup|stdbuf)(-cli)?(\.[cm]?js)?$/;
/** npm writes its arguments into the name of its process. */
const launcherTitle = /^(npm|npx|pnpm|yarn) /;
/** Programs that connect a client of MCP by stdio with a server by HTTP. */
const bridgeName = /^(mcp-remote|mcp-proxy|supergateway)(\.[cm]?js)?$/;
/** Options of shells with a value. */
const valueOption = /^(--(rcfile|init-file|init-command)|[-+]\w*[oO])$/;
const agentName = /^(claude|codex|gemini)(-cli)?(\.[cm]?js|\.exe)?$/;
const agentPath = /[\\/](claude-code|@openai[\\/]codex|gemini-cli)[\\/]/;

/** What a process is. */
export type CommandKind = 'agent' | 'program' | 'launcher' | 'shell command' | 'interactive shell';

/** A shell with a script file counts as a program, unless the script is a launcher of hooks. */
export function recognizeCommand(words: readonly string[]): CommandKind {
  const [program = '', ...args] = words;
  const name = basename(program);
  if (runsHook(words) || launcherTitle.test(program)) return 'launcher';
  const script = /^(node|bun|deno)$/.test(name) ? findScript(args) : '';
  if (agentName.test(name) || agentName.test(basename(script)) || agentPath.test(script)) return 'agent';
  if (shellName.test(name)) {
    const own = args.filter((_, at) => !valueOption.test(args[at - 1] ?? ''));
    const firstWord = own.findIndex((arg) => !/^[-+]/.test(arg));
    const options = firstWord === -1 ? own : own.slice(0, firstWord);
    if (options.some((option) => /^-\w*c/.test(option))) return 'shell command';
    return firstWord === -1 ? 'interactive shell' : 'program';
  }
  const isLauncher =
    launcherName.test(name) || (/^(node|bun)$/.test(name) && launcherName.test(basename(args[0] ?? '')));
  return isLauncher ? 'launcher' : 'program';
}

/** Whether a program sends the requests of the client that started it. */
export function isBridge([program = '', ...args]: readonly string[]): boolean {
  const name = basename(program);
  const script = /^(node|bun|deno|python[\d.]*)$/.test(name) ? findScript(args) : '';
  return bridgeName.test(name) || bridgeName.test(basename(script));
}

function findScript(args: readonly string[]): string {
  return args.find((arg) => !arg.startsWith('-')) ?? '';
}

const hostArgument = /^(claude-code|codex|gemini)$/;

/** Whether the words of a command line are those of a hook: it is the hook's own launcher, and no program in a word. */
function runsHook(words: readonly string[]): boolean {
  if (/^(-e|--eval|-c|-p)$/.test(words[1] ?? '') && !shellName.test(basename(words[0] ?? ''))) return false;
  return words.some((word, at) => at > 0 && word === 'hook' && hostArgument.test(words[at + 1] ?? ''));
}
