/** The settings of MCP servers: the form of their lists of tools, and which of two lists protects more. */

import { isMatch } from '../glob.ts';
import { findNearestName } from '../names.ts';
import { describeValue, emptyTable, isTable, reservedNames } from '../plain-copy.ts';
import { textProblem } from './check-value.ts';

/** Globs of names of tools, by the name of their server; `*` = any characters, in both. */
export type ToolGlobs = Readonly<Record<string, readonly string[]>>;

/** The tools of MCP servers that may be used. */
export interface ToolLists {
  /** A tool must match a glob of each list whose server is its own. @default undefined (every tool) */
  readonly allow?: ToolGlobs;
  /** A tool must match no glob of any list whose server is its own. @default undefined (no tool) */
  readonly deny?: ToolGlobs;
}

/** How `switchgear mcp` treats the tools of a server. */
export interface McpSettings {
  /** Tools that `switchgear mcp` lists and lets be called. @default {} */
  readonly tools: ToolLists;
  /** Whether tools whose breaker is open are left out of lists. @default false */
  readonly hideOpenTools: boolean;
  /** Whether a tool whose definition changed is used, or refused until a person accepts the change. @default 'warn' */
  readonly onToolChange: 'warn' | 'refuse';
}

/** Globs in one list. */
export const toolGlobsMax = 1_000;

const names = ['allow', 'deny'] as const;

/** Characters of other kinds of patterns, which a glob would take as they are and so never match. */
const otherPatterns = /[?[\]{}()|\\^$+!,;"'<>]|^\s|\s$/;

/** Returns why a value is no table with `allow` and `deny`, as the end of a sentence; undefined if it is one. */
export function toolListsProblem(value: unknown): string | undefined {
  if (!isTable(value)) return `must be a table with allow and deny, got ${describeValue(value)}`;
  for (const name of Object.keys(value)) {
    if (!names.includes(name as 'allow')) {
      const near = findNearestName(name, names);
      return `.${name} is not a setting; it has allow and deny${near ? `; did you mean ${near}?` : ''}`;
    }
    const problem = value[name] === undefined ? undefined : listProblem(name, value[name]);
    if (problem !== undefined) return `.${name}${problem.startsWith('[') ? '' : ' '}${problem}`;
  }
  return undefined;
}

/** A list is for every server; a table has a list for each name of a server. */
function listProblem(name: string, value: unknown): string | undefined {
  if (Array.isArray(value)) return globsProblem(name, value);
  if (!isTable(value)) return `must be a list of globs, or a table of them by server, got ${describeValue(value)}`;
  for (const server of Object.keys(value)) {
    const isBad = reservedNames.includes(server) || textProblem(server) !== undefined || otherPatterns.test(server);
    const problem = isBad ? 'is not a valid name of a server' : globsProblem(name, value[server]);
    if (problem !== undefined) return `[${describeValue(server)}]${problem.startsWith('[') ? '' : ' '}${problem}`;
  }
  return undefined;
}

function globsProblem(name: string, value: unknown): string | undefined {
  if (!Array.isArray(value)) return `must be a list of globs, got ${describeValue(value)}`;
  if (value.length > toolGlobsMax) return `must have at most ${toolGlobsMax} globs, got ${value.length}`;
  // Some read an empty list as no limit and others as no tool at all.
  if (name === 'allow' && value.length === 0) return 'must not be empty: to refuse every tool, write deny = ["*"]';
  for (let index = 0; index < value.length; index++) {
    const glob: unknown = value[index];
    const problem = textProblem(glob);
    if (problem !== undefined) return `[${index}] ${problem}`;
    if (otherPatterns.test(glob as string))
      return `[${index}] must be a name of a tool, where * stands for any characters, got ${describeValue(glob)}`;
  }
  return undefined;
}

/** Reads checked lists: a plain list is for every server. */
export function readToolLists(value: unknown): ToolLists {
  const lists: { allow?: ToolGlobs; deny?: ToolGlobs } = {};
  for (const name of names) {
    const list = (value as Record<string, ToolGlobs | readonly string[] | undefined>)[name];
    if (list !== undefined)
      lists[name] = Object.assign(emptyTable(), Array.isArray(list) ? { '*': list } : list) as ToolGlobs;
  }
  return lists;
}

/** Returns lists that protect as much as both: a tool must pass each list of `allow`, and none of `deny`. */
export function mergeToolLists(base: ToolLists, value: ToolLists): ToolLists {
  const allow = mergeGlobs(base.allow, value.allow, (one, other) => one.filter((glob) => isCovered(glob, other)));
  const deny = mergeGlobs(base.deny, value.deny, (one, other) => [
    ...one,
    ...other.filter((glob) => !isCovered(glob, one)),
  ]);
  return { ...(allow && { allow }), ...(deny && { deny }) };
}

/** Whether one of the globs matches whatever a glob matches: a `*` is a character that only a `*` matches. */
function isCovered(glob: string, by: readonly string[]): boolean {
  return by.some((each) => isMatch(each, glob));
}

function mergeGlobs(
  base: ToolGlobs | undefined,
  value: ToolGlobs | undefined,
  mergeLists: (value: readonly string[], base: readonly string[]) => readonly string[],
): ToolGlobs | undefined {
  if (base === undefined || value === undefined) return value ?? base;
  const merged = emptyTable() as Record<string, readonly string[]>;
  for (const server of new Set([...Object.keys(value), ...Object.keys(base)])) {
    const [one, other] = [value[server], base[server]];
    merged[server] = one === undefined || other === undefined ? (one ?? other)! : mergeLists(one, other);
  }
  return merged;
}
