/** Builtins of the shell that change its folder, variables and parameters. */

import { fieldMark } from './shell-expansion.ts';
import { formatText, isSuccessful } from './shell-programs.ts';
import { changeFolder, type ShellScope } from './shell-scope.ts';

interface BuiltinPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly made: ReadonlySet<string>;
}

export function isFolderBuiltin(program = ''): boolean {
  return /^(cd|chdir|pushd|popd)$/.test(program);
}

/** Applies a command to the scope; returns the scope after it, and whether the command surely succeeds. */
export function applyBuiltin(
  scope: ShellScope,
  [program = '', ...args]: readonly string[],
  input: string | undefined,
  { environment, made }: BuiltinPlace,
): { readonly scope: ShellScope; readonly isSure: boolean } {
  const { variables } = scope;
  if (isFolderBuiltin(program))
    return changeFolder(scope, program, args, variables.get('HOME')?.[0] ?? environment.HOME, made);
  if (/^(export|declare|local|readonly|typeset)$/.test(program)) {
    for (const arg of args) {
      const [, name, value] = /^(\w+\+?)=(.*)$/s.exec(arg) ?? [];
      if (name !== undefined) assignVariable(scope, name, value!);
    }
  } else if (program === 'alias') {
    for (const arg of args) {
      const [, name, value] = /^([^=\s]+)=(.*)$/s.exec(arg) ?? [];
      if (name !== undefined) scope.functions.set(name, `${value} "$@"`);
    }
  } else if (program === 'read' && input !== undefined) {
    const values = input.split('\n').filter((line) => line !== '');
    for (const name of args.filter((arg) => !arg.startsWith('-')))
      variables.set(name, values.length === 0 ? [''] : values);
  } else if (/^(mapfile|readarray)$/.test(program) && input !== undefined) {
    variables.set(args.findLast((arg) => !arg.startsWith('-')) ?? 'MAPFILE', [input.split('\n').join(fieldMark)]);
  } else if (program === 'printf' && args[0] === '-v') {
    variables.set(args[1] ?? '', [formatText(args.slice(2))]);
  } else if (program === 'unset') for (const arg of args) variables.delete(arg);
  else if (program === 'set') {
    if (args.some((arg) => /^-\w*e/.test(arg) || arg === 'errexit')) variables.set('errexit', ['1']);
    if (args.includes('--')) setParameters(scope, args.slice(args.indexOf('--')));
  }
  return { scope, isSure: isSuccessful(program) };
}

/** Assigns a variable; a name that ends with a plus is appended to. */
export function assignVariable({ variables }: ShellScope, name: string, value: string): void {
  const isAppended = name.endsWith('+');
  const plain = isAppended ? name.slice(0, -1) : name;
  const before = isAppended ? (variables.get(plain) ?? ['']) : [''];
  variables.set(
    plain,
    before.map((text) => text + value),
  );
}

/** Sets the parameters from `$0` on. */
export function setParameters({ variables }: ShellScope, words: readonly string[]): void {
  for (const [at, word] of words.slice(0, parametersMax).entries()) variables.set(String(at), [word]);
  for (const name of ['@', '*']) variables.set(name, [words.slice(1).join(fieldMark)]);
}

/** The parameters that have a name of one digit. */
const parametersMax = 10;

/** The words of a command with the text that `xargs` appends or inserts. */
export function appendInput(words: readonly string[], input: string, replaced: string | undefined): readonly string[] {
  const values = input.split(/[\s\0]+/).filter((value) => value !== '');
  if (replaced === undefined) return [...words, ...values];
  return words.flatMap((word) =>
    word.includes(replaced) ? values.map((value) => word.replaceAll(replaced, value)) : [word],
  );
}
