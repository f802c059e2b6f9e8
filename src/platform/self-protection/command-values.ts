/** Values that other programs run as commands: variables such as `PAGER`, and settings and options of git. */

import { quoteWord } from '../shell-programs.ts';

/** Variables whose value a shell or a program runs as a command, or expands like one. */
const commandVariable =
  /^(LESSOPEN|LESSCLOSE|BROWSER|GIT_SSH|GIT_EXTERNAL_DIFF|\w*(EDITOR|VISUAL|PAGER|ASKPASS|_COMMAND|_RSH))$/;
/** Variables that name a file which a shell reads before its script. */
const fileVariable = /^(BASH_ENV|ENV)$/;
/** Variables with options of an interpreter, which may hold a program. */
const codeVariable = /^(NODE_OPTIONS|PERL5OPT|RUBYOPT|BUN_OPTIONS|npm_config_node_options)$/i;

/** What a variable makes a later program run. */
export interface VariableTexts {
  readonly scripts: readonly string[];
  readonly codes: readonly string[];
}

const nothing: VariableTexts = { scripts: [], codes: [] };

/** Reads a variable that is set for a command or for the rest of a script. */
export function readCommandVariable(
  name: string,
  value: string,
  readText: (path: string) => string | undefined,
): VariableTexts {
  if (codeVariable.test(name)) return { scripts: [], codes: [value, ...listDataUrls(value)] };
  if (fileVariable.test(name)) return { scripts: [readText(value) ?? `: ${value}`], codes: [] };
  if (/^PS[0-4]$/.test(name)) return { scripts: [`: ${value}`], codes: [] };
  if (/^GIT_CONFIG_(VALUE_\d+|PARAMETERS)$/.test(name)) return { scripts: [value.replace(/^!/, '')], codes: [] };
  return commandVariable.test(name) ? { scripts: [value.replace(/^\|+-?/, '')], codes: [] } : nothing;
}

/** The programs in addresses such as `data:text/javascript,…`. */
export function listDataUrls(text: string): readonly string[] {
  return [...text.matchAll(/data:[\w/+.-]*(;[\w=;-]*)?,([^\s'"]*)/g)].flatMap(([, kind = '', data = '']) => {
    if (kind.includes('base64')) return [Buffer.from(data, 'base64').toString('utf8')];
    try {
      return [decodeURIComponent(data)];
    } catch {
      return [data];
    }
  });
}

/** Settings of git with a command as their value. */
const commandSetting = new RegExp(
  [
    String.raw`^(alias|pager|interactive)\.`,
    String.raw`^core\.(pager|editor|sshcommand|fsmonitor|askpass|gitproxy)$`,
    String.raw`^(sequence|gui)\.editor$|^diff\.external$|^uploadpack\.packobjectshook$`,
    String.raw`\.(cmd|command|clean|smudge|process|textconv|driver|helper|program|vcs|receivepack|uploadpack)$`,
  ].join('|'),
  'i',
);

/** The commands that the words of git run beside git itself: aliases, pagers, editors, filters, and `--exec`. */
export function listGitScripts(args: readonly string[]): readonly string[] {
  const settings: (readonly [key: string, value: string])[] = [];
  let at = 0;
  for (; at < args.length && args[at]!.startsWith('-'); at++) {
    const isSetting = args[at] === '-c';
    if (isSetting) settings.push(splitSetting(args[at + 1] ?? ''));
    if (/^(-[cC]|--(git-dir|work-tree|namespace|exec-path|config-env))$/.test(args[at]!)) at++;
  }
  const [verb = '', ...rest] = args.slice(at);
  if (verb === 'config') settings.push(...readConfigWords(rest));
  const scripts = settings.flatMap(([key, value]) => {
    if (!commandSetting.test(key)) return [];
    const isAlias = /^alias\./i.test(key);
    const isUsed = isAlias && key.slice('alias.'.length) === verb;
    const words = isUsed ? rest.map((word) => ` ${quoteWord(word)}`).join('') : '';
    if (value.startsWith('!')) return [value.slice(1) + words];
    return [isAlias ? `git ${value}${words}` : value];
  });
  return [...scripts, ...listVerbScripts(verb, rest)];
}

function splitSetting(text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=');
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** The setting that `git config KEY VALUE` or `git config set KEY VALUE` writes. */
function readConfigWords(args: readonly string[]): readonly (readonly [key: string, value: string])[] {
  const operands = args.filter(
    (arg, at) => !arg.startsWith('-') && !/^(-f|--file|--blob|--type)$/.test(args[at - 1] ?? ''),
  );
  const [key = '', value] = /^(set|add)$/.test(operands[0] ?? '') ? operands.slice(1) : operands;
  return value === undefined ? [] : [[key, value]];
}

/** The commands of verbs that run one: `rebase --exec`, `bisect run`, `submodule foreach`, `difftool -x`. */
function listVerbScripts(verb: string, args: readonly string[]): readonly string[] {
  const after = (pattern: RegExp) =>
    args.flatMap((arg, at) => {
      const [option, joined] = splitSetting(arg);
      if (!pattern.test(option)) return [];
      return arg.includes('=') ? [joined] : [args[at + 1] ?? ''];
    });
  if (verb === 'rebase') return after(/^(-x|--exec)$/);
  if (verb === 'difftool') return after(/^(-x|--extcmd)$/);
  if (verb === 'filter-branch') return after(/^--[\w-]+-filter$/);
  if (/^(clone|fetch|pull|push|ls-remote|fetch-pack)$/.test(verb))
    return [
      ...after(/^(-u|--upload-pack|--receive-pack|--exec)$/),
      ...args.flatMap((arg) => /^ext::(.+)$/s.exec(arg)?.[1] ?? []),
    ];
  const words = args.filter((arg) => !arg.startsWith('--'));
  const isRunner = (verb === 'bisect' && words[0] === 'run') || (verb === 'submodule' && words[0] === 'foreach');
  if (!isRunner) return [];
  return [words.length === 2 ? words[1]! : words.slice(1).map(quoteWord).join(' ')];
}

/** The recipes and variables of a makefile as a shell script. */
export function readMakefile(text: string): string {
  const lines = text.replaceAll('\\\n', ' ').split('\n');
  return lines
    .flatMap((line) => {
      const inner = [...line.matchAll(/\$\(shell ([^)]{0,500})\)/g)].map(([, script]) => script!);
      const [, name, value] = /^\s*(?:export\s+)?(\w+)\s*[:?+!]*=\s*(.*)$/.exec(line) ?? [];
      if (name !== undefined) return [...inner, `${name}=${quoteWord(value!)}`];
      const recipe = /^\t(.*)$/s.exec(line)?.[1] ?? /^[^#=:]*:[^;]*;(.*)$/s.exec(line)?.[1];
      return recipe === undefined ? inner : [...inner, recipe.replace(/^[@+\s-]+/, '')];
    })
    .map((line) => line.replaceAll(/\$[({](\w+)[)}]/g, '$${$1}').replaceAll('$$', '$'))
    .join('\n');
}
