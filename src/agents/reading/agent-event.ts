/** What agents say, in one vocabulary, whichever program said it. Nothing here is judged; it is only told. */

/** Tokens of a model call. Input includes what was read from or written to a cache, output what was thought. */
export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** Whose event it is: the id of a subagent, or the main agent where it is absent. */
interface AgentScoped {
  readonly agent?: string;
}

/** The agent began, or began another turn; a resumed session has the id it had. */
export interface SessionFileEvent {
  readonly type: 'session';
  readonly id?: string;
  readonly model?: string;
}

/** Words of the model. */
export interface AssistantEvent extends AgentScoped {
  readonly type: 'assistant';
  readonly text: string;
  /** The message it is part of. */
  readonly message?: string;
  /** The next piece of a text that is told in pieces, to be joined until anything else comes. */
  readonly piece?: boolean;
  /** Whether calls come with it; absent where that shows later. */
  readonly toolUse?: boolean;
}

/** A call of a tool, as soon as the stream shows it. */
export interface ToolUseEvent extends AgentScoped {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly message?: string;
}

/** What a call brought. `ok` is absent where the program says success whatever happened. */
export interface ToolResultEvent extends AgentScoped {
  readonly type: 'tool_result';
  readonly id: string;
  readonly ok?: boolean;
  readonly output?: unknown;
  readonly error?: string;
}

/** What one model call used so far: it replaces what was said before under the same id, and is never added to it. */
export interface UsageEvent extends AgentScoped, Tokens {
  readonly type: 'usage';
  readonly id: string;
  readonly model?: string;
  readonly costUsd?: number;
}

/** What a whole thread, or the run with everything below it, used so far: what was told before is part of it. */
export interface TotalEvent extends AgentScoped, Tokens {
  readonly type: 'total';
  readonly of: 'thread' | 'run';
  readonly model?: string;
  /** Model calls it is about, as far as that is known: some rates depend on the size of one. */
  readonly calls: number;
  /** The thread was used before this run began: its first total is where counting starts. */
  readonly resumed?: boolean;
}

/** What was said to the agent. Words of a harness are no new request. */
export interface UserEvent extends AgentScoped {
  readonly type: 'user';
  readonly text: string;
  readonly by: 'person' | 'harness';
}

/** A subagent, or a task of its own on the same stream, began. */
export interface SubagentStartedEvent {
  readonly type: 'subagent_started';
  readonly id: string;
  /** Its type, e.g. `Explore`. */
  readonly name?: string;
  /** What it was asked. */
  readonly prompt?: string;
  /** The subagent that sent it, or the main agent where it is absent. */
  readonly parent?: string;
  /** The call that sent it. */
  readonly call?: string;
  /** This stream does not show what it does; a session file may, under another id. */
  readonly hidden?: boolean;
}

/** A subagent is done. */
export interface SubagentEndedEvent {
  readonly type: 'subagent_ended';
  readonly id: string;
  readonly ok: boolean;
  readonly reason?: string;
}

/** A step of the agent began or ended, in which tools may run that the stream shows only when they are done. */
export interface StepEvent extends AgentScoped {
  readonly type: 'step';
  readonly on: boolean;
}

/** A sign of life and nothing more. */
export interface HeartbeatEvent extends AgentScoped {
  readonly type: 'heartbeat';
}

/** An answer. One that is not final is followed by others; the end of a run is the end of its process. */
export interface ResultEvent {
  readonly type: 'result';
  readonly ok: boolean;
  readonly final: boolean;
  readonly text?: string;
  readonly reason?: string;
}

/** Something a person may want to know: a loop that the agent found itself, a retry, a line that was too long. */
export interface NoticeEvent {
  readonly type: 'notice';
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
}

/** Text that is no event of the agent: to be shown as it is. */
export interface OutputEvent extends AgentScoped {
  readonly type: 'output';
  readonly text: string;
}

/** One event of an agent, as every reader reports it. */
export type AgentEvent =
  | SessionFileEvent
  | AssistantEvent
  | ToolUseEvent
  | ToolResultEvent
  | UsageEvent
  | TotalEvent
  | UserEvent
  | SubagentStartedEvent
  | SubagentEndedEvent
  | StepEvent
  | HeartbeatEvent
  | ResultEvent
  | NoticeEvent
  | OutputEvent;
