/**
 * The form of a daily story: what an agent says and calls, what the calls return, and how long they take. The same
 * story is played through every surface, at different speeds of the model.
 */

/** One call of a tool, in the names and fields of Claude Code. */
export interface StoryCall {
  /** `Bash`, `Read`, `Edit`, `Write`, `Grep`, `Glob`, `TodoWrite`, `WebFetch`, `WebSearch`, `mcp__SERVER__TOOL`, … */
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
  /** @default true */
  readonly ok?: boolean;
  /**
   * The time between the begin of the call and its result: sleeps, builds, tests, downloads.
   * @default 0.1
   */
  readonly secs?: number;
}

/** One answer of the model: a text, calls that run at once, or both. */
export interface StoryTurn {
  readonly say?: string;
  readonly calls?: readonly StoryCall[];
  /** The subagent that answers; absent for the main agent. */
  readonly agent?: string;
}

export type StoryStep =
  | StoryTurn
  /** A person writes a prompt. A story begins with one. */
  | { readonly prompt: string }
  /** The main agent starts a subagent, whose turns follow. Several may run at once. */
  | { readonly start: string; readonly type: string; readonly task: string }
  /** A subagent ends; its answer is the result of the call that started it. */
  | { readonly end: string; readonly output: string; readonly ok?: boolean };

interface StoryText {
  /** Words joined by hyphens; unique among all stories. */
  readonly name: string;
  /** One sentence about the work. */
  readonly about: string;
  readonly steps: readonly StoryStep[];
}

/** Honest work, which ends well by itself. */
export interface HealthyStory extends StoryText {
  readonly kind: 'healthy';
}

/** A runaway agent: goes on until somebody stops it. The script is long enough to show that nobody does. */
export interface BadStory extends StoryText {
  readonly kind: 'bad';
  /** The latest model turn, counted from 1, in which a halt must come; absent if only a hint is expected. */
  readonly haltedBy?: number;
  /** The latest model turn in which a hint must come. */
  readonly hintedBy?: number;
}

export type Story = HealthyStory | BadStory;

/** A call of a shell. */
export function bash(command: string, output: string, more: Partial<StoryCall> = {}): StoryCall {
  return { tool: 'Bash', input: { command }, output, ...more };
}

/** A file that is read, with line numbers as Claude Code returns them. */
export function read(path: string, content: string, more: Partial<StoryCall> = {}): StoryCall {
  const lines = content.split('\n').map((line, at) => `${String(at + 1).padStart(6)}\t${line}`);
  return { tool: 'Read', input: { file_path: path }, output: lines.join('\n'), ...more };
}

/** A text that is replaced in a file. */
export function edit(path: string, oldText: string, newText: string, more: Partial<StoryCall> = {}): StoryCall {
  const input = { file_path: path, old_string: oldText, new_string: newText };
  return { tool: 'Edit', input, output: `The file ${path} has been updated successfully.`, ...more };
}

/** A file that is written. */
export function write(path: string, content: string, more: Partial<StoryCall> = {}): StoryCall {
  return {
    tool: 'Write',
    input: { file_path: path, content },
    output: `File created successfully at: ${path}`,
    ...more,
  };
}

/** A turn with calls, and a text before them if there is one. */
export function turn(...parts: readonly (string | StoryCall)[]): StoryTurn {
  const calls = parts.filter((part) => typeof part !== 'string');
  const say = parts.find((part) => typeof part === 'string');
  return { ...(say !== undefined && { say }), ...(calls.length > 0 && { calls }) };
}
