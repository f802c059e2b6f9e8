/** Paths and commands inside programs that a command is given as text: awk, sed, JavaScript, Python and others. */

import { callPathsMax } from '../../core/limits.ts';

/** What a program text writes and runs, as far as it says so literally. */
export interface ProgramText {
  /** The files that it writes. */
  readonly writes: readonly string[];
  /** The shell scripts that it runs. */
  readonly scripts: readonly string[];
}

const nothing: ProgramText = { writes: [], scripts: [] };

/** Reads the programs of `sed`: the files of `w` and the commands of `e`. */
export function readSedProgram(texts: readonly string[]): ProgramText {
  const program = texts.join('\n');
  const place = String.raw`(?:^|[;\n{}!]|[\d$\/|,#]|\/[a-zA-Z\d]*)[^\S\n]*`;
  const writes = [...program.matchAll(new RegExp(`${place}[wW][^\\S\\n]+([^\\n;}]+)`, 'g'))].map(([, path]) =>
    path!.trim(),
  );
  const scripts = [...program.matchAll(new RegExp(`${place}e[^\\S\\n]+([^\\n]+)`, 'g'))].map(([, script]) => script!);
  return { writes: writes.slice(0, callPathsMax), scripts: scripts.slice(0, callPathsMax) };
}

/** Reads a program of `awk`: files behind `>`, and commands of `system` and pipes. */
export function readAwkProgram(program: string, values: readonly string[]): ProgramText {
  if (!/[>|]|system/.test(program)) return nothing;
  const literals = [...program.matchAll(/>>?\s*\(?\s*"((?:[^"\\]|\\.)*)"/g)].map(([, path]) => path!);
  // A file named by a variable is one of the values, or any text of the program.
  const isComputed = />>?\s*\(?\s*[A-Za-z_$]/.test(program);
  const scripts = [...program.matchAll(/(?:system\s*\(|\|)\s*"((?:[^"\\]|\\.)*)"/g)].map(([, script]) => script!);
  return { writes: isComputed ? [...literals, ...values, ...listLiterals(program)] : literals, scripts };
}

/** Calls of programming languages that write, move or remove files. */
const writingCall = new RegExp(
  [
    String.raw`write|append_?file|unlink|\brm(?:Sync|dir|tree|\()|rmtree|rename|truncat|copy_?file|shutil`,
    String.raw`\bcp(?:Sync)?\(|os\.(?:replace|remove|link|open)|\.remove(?:Sync)?\(|symlink|linkSync|chmod|chown`,
    String.raw`\bdump\(|FileUtils|File\.(?:delete|write|open)|'>|">|createWriteStream|sqlite|DatabaseSync`,
    String.raw`\bq[qw]?\s?[^\w\s]\s?\+?>`,
    String.raw`file_put_contents|copy\(|open\s*\(?[^)\n]*,\s*(?:mode\s*=\s*)?['"][^'"\n]*[wax+>]`,
  ].join('|'),
  'i',
);
/** Calls of programming languages that run programs. */
const runningCall = new RegExp(
  [
    String.raw`child_process|exec(?:Sync|File|v|l|\s*\(|\s+q)|spawn|os\.system|system\s*\(?|popen|subprocess|qx`,
    String.raw`Deno\.Command|Bun\.\$|shell_exec|os\.execute|do shell script|${'`'}`,
  ].join('|'),
);
const removingCall = /rmtree|\brm(?:Sync|dir|\()|\brm\b|rename|move/;

/** A program in a programming language. */
export interface CodeText {
  /** The literal texts of a program that writes files or runs programs; empty for others. */
  readonly literals: readonly string[];
  readonly runsPrograms: boolean;
  /** Whether it only loads modules, which may be those of Switchgear's command. */
  readonly loads: boolean;
  /** Whether it removes or moves folders. */
  readonly removes: boolean;
}

export function readCode(code: string): CodeText {
  const quiet = code.replaceAll(/std(?:out|err)\.write/g, '');
  const runsPrograms = runningCall.test(quiet);
  const isWriter = writingCall.test(quiet);
  const loads = !runsPrograms && !isWriter && /\b(?:import|require)\b[^\n]*\bcli\b/.test(quiet);
  if (!runsPrograms && !isWriter && !loads) return { literals: [], runsPrograms, loads, removes: false };
  // Texts that are put together of literals are one text.
  const joined = code.replaceAll(/(['"])\s*[+.]{0,2}\s*\1(?=[\w./~-])/g, '');
  const literals = [...new Set([...listLiterals(code), ...listLiterals(joined)])];
  return { literals, runsPrograms, loads, removes: removingCall.test(quiet) };
}

/** Quotes of JavaScript, Python and others, and `[[…]]` of Lua. */
const quotedText =
  /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|\[={0,9}\[([^[\]]{0,500})\]={0,9}\]/g;
/** `q()`, `qq{}`, `qw//` and `%w[]` of Perl and Ruby; bounded, so that unclosed ones take no time. */
const delimitedText = new RegExp(
  [
    String.raw`(?:\bq[qwxr]?|%[qQwWiIx]?)\s?(?:\(([^()]{0,500})\)|\{([^{}]{0,500})\}`,
    String.raw`\[([^[\]]{0,500})\]|<([^<>]{0,500})>|([/|!#~^:,+@])([^\n]{0,500}?)\5)`,
  ].join('|'),
  'g',
);

/** The quoted texts of a program. */
function listLiterals(code: string): readonly string[] {
  const literals: string[] = [];
  const add = (text: string) => literals.push(text.replaceAll(/\\(['"\\`/])/g, '$1').replace(/^[+<>|\s]+/, ''));
  for (const [, ...texts] of code.matchAll(quotedText)) {
    add(texts.find((text) => text !== undefined) ?? '');
    if (literals.length >= callPathsMax) return literals;
  }
  for (const [, round, curly, square, angled, , other] of code.matchAll(delimitedText)) {
    const text = round ?? curly ?? square ?? angled ?? other ?? '';
    add(text);
    if (/\s/.test(text)) for (const word of text.split(/\s+/)) add(word);
    if (literals.length >= callPathsMax) return literals;
  }
  return literals;
}

/** The paths of a patch: unified, or in the format of `apply_patch`. */
export function listPatchPaths(text: string): readonly string[] {
  const own = text.matchAll(/^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm);
  const unified = text.matchAll(/^(?:\+\+\+|---) (?:[ab]\/)?([^\t\n]+)/gm);
  return [...own, ...unified].map(([, path]) => path!.trim());
}
