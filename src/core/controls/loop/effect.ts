/**
 * Reads what a call does to the world from its input: whether it changes something, only reads, or leaves nothing that
 * a later call can read. A mistake errs towards "changes", which never makes honest work a repetition.
 */

import { peek } from '../../classify.ts';
import { commandLengthMax, loopHabitsMax } from '../../limits.ts';

/**
 * What a call does; `nothing` leaves nothing that a later call can read, `command` is a shell command that may change
 * something.
 */
export type WorldEffect = 'change' | 'command' | 'read' | 'nothing';

/** The part of an input that decides what a call does. */
export interface CallEffect {
  /** Absent: unknown, so it may change something. */
  readonly effect?: WorldEffect;
  /** Whether it ends with an error if it finds nothing. */
  readonly searches?: true;
  /** Whether its command waits before it does something. */
  readonly waits?: true;
  /** A text in a file that is replaced or written: the place with its content before, if known, and after. */
  readonly edit?: { readonly before?: string; readonly after: string };
}

type ToolKind = 'read' | 'search' | 'shell' | 'edit' | 'write' | 'change';

/** The tools of Claude Code, Codex, Gemini CLI, Qwen Code, opencode, cline and pi, in small letters. */
const toolKinds: ReadonlyMap<string, ToolKind> = new Map(
  Object.entries({
    read:
      'read ls notebookread webfetch bashoutput taskoutput todoread readmcpresourcetool read_file ' +
      'read_many_files list_dir ' +
      'list_directory list list_files list_code_definition_names view_image web_fetch',
    search:
      'grep glob websearch toolsearch grep_files grep_search search_files search_file_content ' +
      'google_web_search web_search',
    shell: 'bash shell local_shell exec exec_command execute_command run_command run_shell_command',
    edit: 'edit multiedit str_replace replace replace_in_file edit_file',
    write: 'write write_file write_to_file create_file',
    change: 'apply_patch patch notebookedit todowrite write_todos update_plan save_memory',
  }).flatMap(([kind, names]) => names.split(' ').map((name) => [name, kind as ToolKind] as const)),
);

/** Reads what a call of a tool does. Calls of unknown tools change something. Never throws. */
export function readEffect(tool: string, input: unknown): CallEffect {
  const kind = kindOf(tool);
  if (kind === undefined) return unknownEffect;
  try {
    switch (kind) {
      case 'read':
        return reads;
      case 'search':
        return searches;
      case 'shell':
        return readCommand(commandOf(input));
      case 'edit':
        return readEdit(fieldsOf(input));
      case 'write':
        return readWrite(fieldsOf(input));
      case 'change':
        return changes;
    }
  } catch {
    return changes; // The input cannot be read.
  }
}

/** Names that other programs give to their shell. */
const shellName = /(?:^|[_.-])(?:bash|shell|terminal|exec|command)$/i;

/** Longer names are none of those above. */
const nameMax = 40;

/** The kinds of names that were looked up, in any case. */
const knownKinds = new Map<string, ToolKind | undefined>();

function kindOf(tool: string): ToolKind | undefined {
  if (tool.length > nameMax) return undefined;
  if (knownKinds.has(tool)) return knownKinds.get(tool);
  if (knownKinds.size >= loopHabitsMax) knownKinds.clear();
  const kind = toolKinds.get(tool.toLowerCase()) ?? (shellName.test(tool) ? 'shell' : undefined);
  knownKinds.set(tool, kind);
  return kind;
}

/** Errors of built-in tools of agent CLIs that are no fault of the tool, with their names in policies. */
const callersFaults: readonly (readonly [words: RegExp, name: string, tools?: readonly ToolKind[]])[] = [
  [
    /(?:doesn.t|does not) want to (?:proceed|take)|(?:rejected|denied|declined) by the user|user rejected/i,
    'PermissionDenied',
  ],
  [/sibling tool call errored|inputvalidationerror/i, 'InvalidArguments'],
  [
    /has not been read|modified since|not found in file|exceeds maximum|matches of the string/i,
    'InvalidArguments',
    ['read', 'edit', 'write'],
  ],
  [/does not exist|no such file|ENOENT|not found/i, 'FileNotFound', ['read', 'search', 'edit', 'write']],
  [/\b(?:status|code|http|error)\b\W{0,3}(?:code )?4(?!08|29)\d\d\b/i, 'ClientError', ['read', 'search']],
];

/** The name of an error of a tool by its text: that of a fault of the caller, or else of a failed tool. */
export function nameError(tool: string, text: string): string {
  const head = text.slice(0, wordsMax);
  const kind = kindOf(tool);
  const fault = callersFaults.find(
    ([words, , tools]) => (tools === undefined || (kind !== undefined && tools.includes(kind))) && words.test(head),
  );
  return fault?.[1] ?? 'ToolError';
}

/** The effect of a call of which nothing is known. */
export const unknownEffect: CallEffect = Object.freeze({});
const changes: CallEffect = Object.freeze({ effect: 'change' });
const reads: CallEffect = Object.freeze({ effect: 'read' });
const searches: CallEffect = Object.freeze({ effect: 'read', searches: true });

/** Commands whose output is made from their words alone, and that wait. */
const silent: ReadonlySet<string> = new Set('echo printf true false : sleep'.split(' '));
/** Commands that end with an error if they find nothing, or find a difference. */
const searching: ReadonlySet<string> = new Set('grep egrep fgrep rg ag which pgrep test [ diff cmp'.split(' '));
/** Commands that only read, besides those above. */
const reading: ReadonlySet<string> = new Set(
  (
    'cat head tail less more nl tac ls tree find fd wc cut uniq sort column jq yq strings od xxd stat file du df ' +
    'pwd cd realpath basename dirname type whoami id uname hostname date printenv ps free uptime lsof ss'
  ).split(' '),
);
const readingOfGit: ReadonlySet<string> = new Set(
  'status log diff show blame grep ls-files ls-tree rev-parse describe shortlog cat-file reflog merge-base'.split(' '),
);

const listingOfGit = /^\S*git (?:branch|remote|tag|stash list)(?: -[avr]+| --(?:list|all|show-current|verbose))*$/;

const shellWrapper = /^\s*(?:\S*\/)?(?:ba|z|da)?sh\s+-l?c\s+(["']?)([\s\S]*)\1\s*$/;
/** Options of git before its command. */
const optionsOfGit = /^(\S*git)(?: +(?:--no-pager|-P|-[Cc] +\S+))+/;
const harmlessOutput = /\d?&?>{1,2}\s*(?:\/dev\/null|&\d)/g;
/** Options with which a reading command writes or runs others; and what runs others, or writes, in any command. */
const writingOption = /(?:^|\s)["']?(?:-[a-z]*i\b|--in-place|-o\s|-exec|-ok|-delete|-fprint|-fls)/;
const writingPart = />|<\(|`|\$\((?!\()|\s--output\b/;

function readCommand(command: string | undefined): CallEffect {
  if (command === undefined || command.length > commandLengthMax) return changes;
  const script = unwrapShell(command);
  const parts = script
    .replace(quotedPart, (part) => (/^['"]-|^"[\s\S]*(?:`|\$\()/.test(part) ? part : blankPart(part)))
    .replace(harmlessOutput, ' ')
    .split(/&&|\|\||[;|&\n]/)
    .map(readWords);
  const effects = parts.flatMap((part) => (part === undefined ? [] : [readPart(part)]));
  const does = (wanted: WorldEffect) => effects.includes(wanted);
  const last = parts.findLast((part) => part !== undefined && !silent.has(part.name));
  // A command that is not known to read may change something.
  const effect = does('change') ? 'command' : does('read') ? 'read' : 'nothing';
  return {
    effect,
    ...(last !== undefined && isSearch(last) && { searches: true }),
    ...(waitingWord.test(script) && { waits: true }),
  };
}

/** Words of commands that wait for something. */
const waitingWord = new RegExp(
  [
    '(?:^|[;&|\\n(]|\\bdo\\b)\\s*(?:sleep|wait|watch)\\b',
    '\\b(?:kubectl|docker|helm|gh|aws|gcloud|az)\\s[^;&|]*\\b(?:wait|watch|rollout status)\\b',
  ].join('|'),
);

/** A quoted or escaped part of a command separates no commands; a line goes on after an escaped end. */
const quotedPart = /\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"/g;
const blankPart = (part: string) => (part === '\\\n' ? ' ' : '""');

/** The script of a command that only starts a shell with it. */
export function unwrapShell(command: string): string {
  return shellWrapper.exec(command)?.[2] ?? command;
}

interface CommandPart {
  readonly text: string;
  /** The first word, without a folder, and the second one. */
  readonly name: string;
  readonly second: string;
}

/** The words of one part of a command line; undefined for a part without words. */
function readWords(part: string): CommandPart | undefined {
  const text = part.trim().replace(optionsOfGit, '$1');
  if (text === '' || text.startsWith('#')) return undefined;
  const [first = '', second = ''] = text.split(/\s+/, 2);
  return { text, second, name: first.slice(first.lastIndexOf('/') + 1) };
}

function isSearch({ name, second }: CommandPart): boolean {
  return searching.has(name) || (name === 'git' && second === 'grep');
}

function readPart(part: CommandPart): WorldEffect {
  const { text, name, second } = part;
  if (writingPart.test(text)) return 'change';
  if (silent.has(name)) return 'nothing';
  if (isSearch(part)) return 'read';
  if (name === 'git') return readingOfGit.has(second) || listingOfGit.test(text) ? 'read' : 'change';
  if (name === 'sed') return /\s-[a-z]*n/.test(text) && !/\s-[a-z]*i/.test(text) ? 'read' : 'change';
  return reading.has(name) && !writingOption.test(text) ? 'read' : 'change';
}

/** The command of a call: a text, a list of words, or a field with one of these. */
function commandOf(input: unknown): string | undefined {
  const value = typeof input === 'object' && input !== null && !Array.isArray(input) ? commandField(input) : input;
  if (typeof value === 'string') return value;
  if (!Array.isArray(value) || !value.every((word) => typeof word === 'string')) return undefined;
  return /^(?:\S*\/)?(?:ba|z|da)?sh$/.test(value[0] ?? '') ? (value.at(-1) as string) : value.join(' ');
}

function commandField(input: object): unknown {
  const { command, cmd, script } = input as Readonly<Record<string, unknown>>;
  return command ?? cmd ?? script;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(input: unknown): Fields {
  return typeof input === 'object' && input !== null ? (input as Fields) : {};
}

/** The first field with one of these names that is a text. */
function textField(fields: Fields, names: readonly string[]): string | undefined {
  for (const name of names) if (typeof fields[name] === 'string') return fields[name];
  return undefined;
}

const pathNames = ['file_path', 'path', 'filePath', 'target_file', 'file'];
const oldNames = ['old_string', 'oldString', 'old_str', 'old_text', 'oldText', 'old'];
const newNames = ['new_string', 'newString', 'new_str', 'new_text', 'newText', 'new'];
const contentNames = ['content', 'contents', 'file_text', 'text'];

function readEdit(fields: Fields): CallEffect {
  const path = textField(fields, pathNames);
  const before = textField(fields, oldNames);
  const after = textField(fields, newNames);
  if (path === undefined || before === undefined || after === undefined) return changes;
  return { effect: 'change', edit: { before: `${path}\n${before}`, after: `${path}\n${after}` } };
}

function readWrite(fields: Fields): CallEffect {
  const path = textField(fields, pathNames);
  const content = textField(fields, contentNames);
  if (path === undefined || content === undefined) return changes;
  return { effect: 'change', edit: { after: `${path}\n${content}` } };
}

/** What programs print beside the output of a command: exit codes, headers, and notes that there was no output. */
const lineWithoutNews = new RegExp(
  [
    '^(?:(?:error: )?(?:command failed with |process exited with |process |shell command )?',
    'exit(?:ed with)?[ -]?(?:code|status)?:? 1\\.?',
    '|(?:chunk id|wall time|original token count|command|directory|background pids|process group pgid|signal): .*',
    '|(?:output|error|stdout|stderr):(?: \\((?:empty|none)\\))?|\\(?(?:no output|empty|none)\\)?',
    '|<\\/?[a-z_]+>|no (?:matches|files|results?)(?: were)?(?: found)?\\.?|0 (?:matches|results)|\\[\\]|\\{\\})$',
  ].join(''),
  'i',
);
const wordsMax = 1_000;

/** Whether the failed output of a search says only that nothing was found. */
export function saysNothingFound(output: unknown): boolean {
  if (output === undefined || output === null) return true;
  const text = typeof output === 'object' ? peek(output, 'message') : output;
  if (typeof text !== 'string' || text.length > wordsMax) return false;
  return text.split('\n').every((line) => line.trim() === '' || lineWithoutNews.test(line.trim()));
}
