/** The entry point `switchgear/agents`: reads the output of agent programs as one kind of event. */

export type { EventMapping, StreamMapping } from '../core/event-mapping.ts';
export {
  type AccountingOptions,
  accountEvents,
  type EventAccounting,
  type TokenSpend,
} from './accounting/account-events.ts';
export { claudeSessionReader, type SessionReaderOptions } from './claude-code/session-file.ts';
export { claudeCodeReader } from './claude-code/stream.ts';
export { type CodexSessionReader, codexSessionReader } from './codex/session-file.ts';
export { codexReader } from './codex/stream.ts';
export { type GeminiSessionOptions, geminiSessionReader } from './gemini/session-file.ts';
export { geminiReader } from './gemini/stream.ts';
export { readOpencodeExport } from './opencode/session.ts';
export { opencodeReader } from './opencode/stream.ts';
export { heartbeatReader } from './other/heartbeat.ts';
export { mappedJsonReader } from './other/mapped-json.ts';
export { plainTextReader } from './other/plain-text.ts';
export { fallbackReader, type ReaderForOptions, readerFor } from './reader-for.ts';
export type { AgentCommand } from './reading/agent-command.ts';
export type {
  AgentEvent,
  AssistantEvent,
  HeartbeatEvent,
  NoticeEvent,
  OutputEvent,
  ResultEvent,
  SessionFileEvent,
  StepEvent,
  SubagentEndedEvent,
  SubagentStartedEvent,
  Tokens,
  ToolResultEvent,
  ToolUseEvent,
  TotalEvent,
  UsageEvent,
  UserEvent,
} from './reading/agent-event.ts';
export { type BoundedLines, boundedLines, type LineListener } from './reading/bounded-lines.ts';
export { type FileTail, type FileTailOptions, fileTail } from './reading/file-tail.ts';
export type { Reader } from './reading/reader.ts';
export { type SessionWatch, type SessionWatchOptions, sessionWatch } from './session-watch.ts';
