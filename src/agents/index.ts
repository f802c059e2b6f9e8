/** The door `switchgear/agents`: what agent programs say, read into one vocabulary. */

export type { EventMapping, Mapping } from '../core/event-mapping.ts';
export type { AgentCommand } from './agent-command.ts';
export type {
  AgentEvent,
  AssistantEvent,
  HeartbeatEvent,
  NoticeEvent,
  OutputEvent,
  ResultEvent,
  SessionEvent,
  StepEvent,
  SubagentEndedEvent,
  SubagentStartedEvent,
  Tokens,
  ToolResultEvent,
  ToolUseEvent,
  TotalEvent,
  UsageEvent,
  UserEvent,
} from './agent-event.ts';
export { type Booking, type BookingOptions, bookOn } from './booking.ts';
export { boundedLines, type Lines, type LineTaker } from './bounded-lines.ts';
export { claudeCodeReader } from './claude-code.ts';
export { codexReader } from './codex.ts';
export { type FileTail, type FileTailOptions, fileTail } from './file-tail.ts';
export { geminiReader } from './gemini.ts';
export { genericReader } from './generic.ts';
export { heartbeatReader } from './heartbeat.ts';
export { opencodeReader } from './opencode.ts';
export { plainReader } from './plain.ts';
export type { Reader } from './reader.ts';
export { type ReaderForOptions, readerFor, textReader } from './reader-for.ts';
export { claudeSessionReader, type SessionReaderOptions } from './session-claude.ts';
export { type CodexSessionReader, codexSessionReader } from './session-codex.ts';
export { type GeminiSessionOptions, geminiSessionReader } from './session-gemini.ts';
export { readOpencodeExport } from './session-opencode.ts';
export { type SessionWatch, type SessionWatchOptions, sessionWatch } from './session-watch.ts';
export type { Spent } from './usage-ledger.ts';
