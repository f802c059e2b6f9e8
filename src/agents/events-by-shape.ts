/**
 * Reads programs that nobody has described: each JSON line is read by its shape, whichever known agent or model API
 * prints lines like it, in any mix. A line of another shape only resets the idle time, and the first one is reported.
 */

import { textOf } from '../core/foreign-text.ts';
import { quoteValue } from '../core/quote.ts';
import { claudeEventReader } from './claude-code/stream.ts';
import { codexEventReader } from './codex/stream.ts';
import { geminiEventReader } from './gemini/stream.ts';
import { opencodeEventReader } from './opencode/stream.ts';
import { modelResponseReader } from './other/model-responses.ts';
import { plainTextReader } from './other/plain-text.ts';
import { findUsage, readTotalCost, readUsage, trackTotalCost } from './other/reported-usage.ts';
import { parseCallInput, type ShapeReader, simpleEventReader } from './other/simple-events.ts';
import type { AgentEvent } from './reading/agent-event.ts';
import {
  asObject,
  asText,
  heartbeatOnly,
  type JsonObject,
  jsonReader,
  noEvents,
  type Reader,
} from './reading/reader.ts';

/** Lines of server-sent events: their data is a JSON line, their other fields say nothing. */
const dataPattern = /^data:\s*(?=\{)/;
const framePattern = /^(event|id|retry):|^data:\s*\[DONE\]|^:/;

/** Creates a reader of text and of JSON lines of any known shape. */
export function eventsByShapeReader(): Reader {
  const text = plainTextReader();
  const readers = createShapeReaders();
  let isReported = false;
  /** Whether usage was counted since the last line that closes a run or a turn. */
  let hasUsage = false;
  const costSince = trackTotalCost();
  let unnamed = 0;
  const nameUsage = () => `usage-${++unnamed}`;

  function readEvent(event: JsonObject): readonly AgentEvent[] {
    let events: readonly AgentEvent[] | undefined;
    for (const read of readers) {
      events = read(event);
      if (events !== undefined) break;
    }
    events ??= readBareUsage(event);
    const total = readTotalCost(event);
    const costUsd = total === undefined ? undefined : costSince(total);
    if (events === undefined && costUsd === undefined) return reportOnce(event);
    events ??= noEvents;
    const isClosing = events.some(({ type }) => type === 'result') || closingType.test(textOf(event.type));
    if (!hasUsageEvent(events)) events = [...events, ...readOwnUsage(event, isClosing, costUsd)];
    hasUsage = !isClosing && (hasUsage || hasUsageEvent(events));
    return events;
  }

  /** The usage that an event of another kind reports. A closing line sums up what was counted before. */
  function readOwnUsage(event: JsonObject, isClosing: boolean, costUsd: number | undefined): readonly AgentEvent[] {
    const source = findUsage(event) === undefined ? asObject(event.message ?? event.data ?? event.payload) : event;
    if (isClosing && hasUsage) return noEvents;
    const usage = findUsage(source) ?? (isClosing ? (event.stats ?? pickTokenFields(event)) : undefined);
    if (usage === undefined && costUsd === undefined) return noEvents;
    // Lines of one message repeat its usage, which is counted once by the id of the message.
    const { id, model } = source;
    const cost = costUsd === undefined ? {} : { costUsd };
    return readUsage({ ...cost, usage, model, id: isClosing ? undefined : id }, nameUsage) ?? noEvents;
  }

  /** Tokens alone: the last line of some streams has no type, and nothing else. */
  function readBareUsage(event: JsonObject): readonly AgentEvent[] | undefined {
    if (event.type !== undefined || event.event !== undefined || event.kind !== undefined) return undefined;
    const { id, model, modelVersion } = event;
    return readUsage({ ...findUsage(event), id, model: model ?? modelVersion }, nameUsage);
  }

  function reportOnce(event: JsonObject): readonly AgentEvent[] {
    if (isReported) return noEvents;
    isReported = true;
    const notice = { type: 'notice', level: 'warning', text: describeUnknown(event), isAboutReading: true } as const;
    return [notice, ...heartbeatOnly];
  }

  const json = jsonReader(readEvent);
  return {
    read(line) {
      if (/^\s*\{/.test(line)) return json.read(line);
      if (dataPattern.test(line)) return json.read(line.replace(dataPattern, ''));
      return framePattern.test(line) ? noEvents : text.read(line);
    },
    end: text.end,
  };
}

/** Types of lines that close a run or a turn, beside `result`. */
const closingType = /^(complete|completed|completion|done|end|finish|finished|agent_end|session_end)$/;

/** The fields of a closing line that are counts of tokens by their name. */
function pickTokenFields(event: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(event).filter(([name]) => /tokens$|TokenCount$/.test(name)));
}

function hasUsageEvent(events: readonly AgentEvent[]): boolean {
  return events.some(({ type }) => type === 'usage' || type === 'total');
}

/** The readers in the order in which they are asked: the more particular a shape, the earlier. */
function createShapeReaders(): readonly ShapeReader[] {
  const [claude, codex, gemini, opencode] = [
    claudeEventReader(),
    codexEventReader(),
    geminiEventReader(),
    opencodeEventReader(),
  ];
  let unnamed = 0;
  let emptyMessage: string | undefined;

  /** The events of a message in the form of Claude Code. */
  function readMessage({ type, message, isWrapped }: JsonObject, events: readonly AgentEvent[]): readonly AgentEvent[] {
    const { id: given, content } = asObject(message);
    const id = asText(given);
    // An empty turn, which says neither words nor calls; a message in progress says so once.
    if (type === 'assistant' && Array.isArray(content) && content.length === 0) {
      const isRepeated = id !== undefined && id === emptyMessage;
      emptyMessage = id;
      return isRepeated ? events : [{ type: 'assistant', text: '', ...(id && { message: id }) }, ...events];
    }
    // A wrapped message arrives in pieces with the same id.
    if (isWrapped !== true || id === undefined) return events;
    return events.map((each) => (each.type === 'assistant' ? { ...each, piece: true } : each));
  }

  return [
    (event) => (isOpencode(event) ? opencode(event) : undefined),
    (event) => (/^(thread|turn|item)\./.test(textOf(event.type)) ? codex(event) : undefined),
    (event) => (isGemini(event) ? gemini(event) : undefined),
    (event) => {
      const known = asClaude(event, () => `unnamed-block-${++unnamed}`);
      return known === undefined ? undefined : readMessage(known, claude(known));
    },
    modelResponseReader(),
    simpleEventReader(),
  ];
}

function isOpencode(event: JsonObject): boolean {
  return asText(event.sessionID) !== undefined && (asObject(event.part) === event.part || event.error !== undefined);
}

function isGemini(event: JsonObject): boolean {
  switch (event.type) {
    case 'init':
      return asText(event.session_id) !== undefined;
    case 'message':
      return asText(event.role) !== undefined && typeof event.content === 'string' && 'delta' in event;
    case 'tool_use':
    case 'tool_result':
      return asText(event.tool_id) !== undefined;
    case 'result':
      return asText(event.status) !== undefined && 'stats' in event;
    default:
      return false;
  }
}

/** The event in the form of Claude Code, if it has that shape; its content blocks may be anywhere usual. */
function asClaude(event: JsonObject, nameCall: () => string): JsonObject | undefined {
  switch (event.type) {
    case 'system':
      return asText(event.subtype) === undefined ? undefined : event;
    case 'stream_event':
      return asObject(event.event) === event.event ? event : undefined;
    case 'result':
      return asText(event.subtype) !== undefined || 'modelUsage' in event ? event : undefined;
    default:
      break;
  }
  const wrapped = asObject(event.message ?? event.llm_message);
  const isWrapped = wrapped === (event.message ?? event.llm_message);
  const message = isWrapped ? wrapped : event;
  const isMessage = event.type === undefined || messageType.test(textOf(event.type));
  const role = isMessage ? (event.role ?? wrapped.role) : event.type;
  if (role !== 'assistant' && role !== 'user') return undefined;
  const content = typeof message.content === 'string' && isWrapped ? [textBlock(message.content)] : message.content;
  if (!Array.isArray(content)) return undefined;
  const blocks = content.map((block) => asBlock(asObject(block), nameCall));
  if (blocks.length > 0 && !blocks.some(({ type }) => knownBlock.test(textOf(type)))) return undefined;
  return { ...event, type: role, message: { ...message, content: blocks }, isWrapped: isWrapped && isMessage };
}

/** Types of lines that wrap a message of any role. */
const messageType = /^(message|message_end|assistant_message|MessageEvent)$/;

const knownBlock =
  /^(text|tool_use|tool_result|thinking|redacted_thinking|image|document|server_tool_use|\w+_tool_result)$/;

function textBlock(text: string): JsonObject {
  return { type: 'text', text };
}

/** A content block with the names of Anthropic's. */
function asBlock(block: JsonObject, nameCall: () => string): JsonObject {
  switch (block.type) {
    case 'output_text':
    case 'input_text':
      return { ...block, type: 'text' };
    case 'tool_use':
    case 'tool-call':
    case 'tool_call':
      return {
        type: 'tool_use',
        id: block.id ?? block.toolCallId ?? nameCall(),
        name: block.name ?? block.toolName,
        input: parseCallInput(block.input ?? block.args ?? block.arguments),
      };
    case 'tool-result':
      return { type: 'tool_result', tool_use_id: block.toolCallId, content: block.output ?? block.result };
    case 'toolCall':
      return { type: 'tool_use', id: block.id ?? nameCall(), name: block.name, input: block.arguments ?? block.args };
    case 'toolRequest': {
      const { name, arguments: input } = asObject(asObject(block.toolCall).value ?? block.toolCall);
      return { type: 'tool_use', id: block.id ?? nameCall(), name, input };
    }
    case 'toolResponse': {
      const result = asObject(block.toolResult);
      const { content = result.value } = asObject(result.value);
      const isError = result.status === 'error' || asObject(result.value).isError === true;
      return { type: 'tool_result', tool_use_id: block.id, content: content ?? result.error, is_error: isError };
    }
    default:
      return block;
  }
}

/** Names an event without its contents. */
function describeUnknown(event: JsonObject): string {
  const type = asText(event.type);
  const keys = Object.keys(event).slice(0, 5).map(quoteValue).join(', ');
  const what = type === undefined ? `with the fields ${keys || 'none'}` : `of type ${quoteValue(type)}`;
  return `not understood: JSON lines ${what}; only limits of time hold for them (--mapping FILE says what they are)`;
}
