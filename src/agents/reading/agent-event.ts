/** The events of agents, in one form for all programs. */

/** Tokens of a model call. Input includes cache reads and writes, output includes reasoning. */
export interface Tokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The part of the cache writes that is kept for an hour, which costs more; absent if there is none. */
  readonly cacheWrite1hTokens?: number;
}

/** The id of the subagent of an event; absent for the main agent. */
interface AgentScoped {
  readonly agent?: string;
}

/** The agent started, or started another turn; a resumed session keeps its id. */
export interface SessionFileEvent {
  readonly type: 'session';
  readonly id?: string;
  readonly model?: string;
}

/** A text of the model. */
export interface AssistantEvent extends AgentScoped {
  readonly type: 'assistant';
  readonly text: string;
  /** The id of its message. */
  readonly message?: string;
  /** Whether the text is a piece, to be joined with the following pieces until another event. */
  readonly piece?: boolean;
  /** Whether the message also has calls; absent if not known yet. */
  readonly toolUse?: boolean;
}

/** A tool call, as soon as the stream shows it. */
export interface ToolUseEvent extends AgentScoped {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly message?: string;
}

/** The result of a call. `ok` is absent if the program reports success for every call. */
export interface ToolResultEvent extends AgentScoped {
  readonly type: 'tool_result';
  readonly id: string;
  readonly ok?: boolean;
  readonly output?: unknown;
  readonly error?: string;
  /** The time that the call took, if the program tells it; otherwise that between the two events. */
  readonly tookMs?: number;
}

/** The usage of one model call so far. It replaces earlier events with the same id. */
export interface UsageEvent extends AgentScoped, Tokens {
  readonly type: 'usage';
  readonly id: string;
  readonly model?: string;
  readonly costUsd?: number;
}

/** The total usage of a thread, or of the run with all subagents, so far. It includes all earlier events. */
export interface TotalEvent extends AgentScoped, Tokens {
  readonly type: 'total';
  readonly of: 'thread' | 'run';
  readonly model?: string;
  /** The number of model calls, as far as known: some prices depend on the size of a call. */
  readonly calls: number;
  /** Whether the thread is older than this run; counting then starts from its first total. */
  readonly resumed?: boolean;
}

/** A message to the agent. Texts that the agent CLI inserts are not new requests. */
export interface UserEvent extends AgentScoped {
  readonly type: 'user';
  readonly text: string;
  readonly by: 'person' | 'harness';
}

/** A subagent, or a separate task in the same stream, started. */
export interface SubagentStartedEvent {
  readonly type: 'subagent_started';
  readonly id: string;
  /** Its type, e.g. `Explore`. */
  readonly name?: string;
  /** The prompt of the subagent. */
  readonly prompt?: string;
  /** The subagent that started it; absent for the main agent. */
  readonly parent?: string;
  /** The call that started it. */
  readonly call?: string;
  /** Whether the stream omits its actions; a session file may contain them, under another id. */
  readonly hidden?: boolean;
  /** Whether it is a part of the main agent's own work, opened by a heartbeat: its words are also the run's. */
  readonly isPart?: boolean;
}

/** A subagent ended. */
export interface SubagentEndedEvent {
  readonly type: 'subagent_ended';
  readonly id: string;
  readonly ok: boolean;
  readonly reason?: string;
}

/** A step of the agent started or ended. Tools in it may appear in the stream only after they end. */
export interface StepEvent extends AgentScoped {
  readonly type: 'step';
  readonly on: boolean;
}

/** A sign of life. */
export interface HeartbeatEvent extends AgentScoped {
  readonly type: 'heartbeat';
}

/** An answer. If it is not final, others follow. The run ends with its process. */
export interface ResultEvent {
  readonly type: 'result';
  readonly ok: boolean;
  readonly final: boolean;
  readonly text?: string;
  readonly reason?: string;
}

/** A message for a person: a loop that the agent detected itself, a retry, a line that was too long. */
export interface NoticeEvent {
  readonly type: 'notice';
  readonly level: 'info' | 'warning' | 'error';
  readonly text: string;
  /** Whether it is a message of the reader: about lines that it does not understand. */
  readonly isAboutReading?: boolean;
}

/** Text that is not an event, to be shown unchanged. */
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
