/** Finds the task, session and agent of a request in its path, headers or body. */

import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { getOrCreate } from '../core/bounded.ts';
import { cleanLine } from '../core/foreign-text.ts';
import type { PayingKey } from '../ports/policy.ts';
import { asFields, type Fields, readText } from './shapes/shape.ts';

/** The task of a request. */
export interface TaskIdentity {
  readonly id: string;
  readonly agent: string;
  /** The session, if it is not the task's own. */
  readonly session?: string | undefined;
  /** The task above it, of which it is a subagent. */
  readonly parent?: string | undefined;
  /** Whether it is only watched for loops, below a task that runs. */
  readonly isConversation?: boolean;
  /** Whether the request names the task; otherwise it is that of the key, until the key is idle. */
  readonly isNamed: boolean;
  /** The client that names it: its key of the gateway, or else the digest of its own key. */
  readonly client?: string;
  /** The key of the gateway that pays. */
  readonly key?: PayingKey;
}

/**
 * The identity among the tasks of its client. No key can spend from the tasks and sessions of another one, and a key
 * that is added again begins new tasks.
 */
export function placeIdentity(
  identity: TaskIdentity,
  headers: IncomingHttpHeaders,
  key: (PayingKey & { readonly tag: string }) | undefined,
): TaskIdentity {
  if (key === undefined) return { ...identity, client: digestKey(headers) };
  const { id, session, parent, isNamed } = identity;
  const place = (name: string) => `gw-${key.name}.${key.tag}:${name.replace(/^gw-/, '')}`;
  return {
    ...identity,
    ...{ client: `key-${key.name}`, key: { name: key.name, budgets: key.budgets } },
    id: isNamed ? place(id) : `gw-${key.name}.${key.tag}`,
    session: session && place(session),
    parent: parent && place(parent),
  };
}

/** Letters of a name that are kept; a longer name is replaced by its digest. */
const nameMax = 120;
/** Letters at the end of a user id in which its session is looked for. */
const userIdMax = 200;

/**
 * Finds the task of a request. The first of these names it: the path, `x-switchgear-task`, the session of an agent CLI
 * with the id of its subagent, the conversation of OpenAI's API, `metadata.user_id`, and else the key.
 */
export function identifyTask(task: string | undefined, headers: IncomingHttpHeaders, body: Fields): TaskIdentity {
  const agent = readName(headers['x-switchgear-agent']) ?? nameClient(headers['user-agent']);
  const session = readName(headers['x-switchgear-session']);
  const own = readName(task) ?? readName(headers['x-switchgear-task']);
  const subagent = findSubagent(headers);
  const conversation = own ?? session ?? findConversation(headers, body);
  if (conversation === undefined) return { id: `gw-${digestKey(headers)}`, agent, session, isNamed: false };
  const id = `gw-${conversation}`;
  const identity = { agent, session: session ?? `gw-${conversation}`, isNamed: true };
  if (subagent === undefined || readName(headers['x-switchgear-task']) !== undefined) return { id, ...identity };
  const above = readName(headers['x-claude-code-parent-agent-id']);
  const parent = above === undefined || above === subagent ? id : `${id}.${above}`;
  return { id: `${id}.${subagent}`, ...identity, parent };
}

/** The id of a subagent of Claude Code, of Codex (a thread of a session) or of opencode (a session below another). */
function findSubagent(headers: IncomingHttpHeaders): string | undefined {
  const [session, thread] = [headers['session-id'], headers['thread-id']];
  return (
    readName(headers['x-claude-code-agent-id']) ??
    (headers['x-parent-session-id'] === undefined ? undefined : readName(headers['x-session-id'])) ??
    (session === undefined || thread === session ? undefined : readName(thread))
  );
}

function findConversation(headers: IncomingHttpHeaders, body: Fields): string | undefined {
  const metadata = asFields(body.metadata);
  const conversation = readText(body.conversation) ?? asFields(body.conversation).id;
  return (
    readName(headers['x-claude-code-session-id']) ??
    readName(headers.session_id ?? headers['session-id']) ??
    readName(headers.conversation_id ?? headers['conversation-id']) ??
    readName(headers['x-parent-session-id'] ?? headers['x-session-id'] ?? headers['x-opencode-session']) ??
    readName(conversation) ??
    readName(body.prompt_cache_key) ??
    readUserId(metadata.user_id)
  );
}

/** The session in the `user_id` of Claude Code, `user_…_account_…_session_UUID`; otherwise the whole id. */
function readUserId(value: unknown): string | undefined {
  const text = readText(value);
  // The end is enough, and the time of the search grows with the square of its length.
  return readName(/[_"]session(?:_id":")?_?([\w-]{8,})"?\}?$/.exec(text?.slice(-userIdMax) ?? '')?.[1] ?? text);
}

/** A name of a client: one clean line, or a digest of a longer one. */
function readName(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const name = cleanLine(value.trim());
  return name.length <= nameMax ? name : digest(name);
}

/** The key of a request by its digest. The key itself is never stored. */
function digestKey(headers: IncomingHttpHeaders): string {
  const key = headers['x-api-key'] ?? headers.authorization ?? headers['x-goog-api-key'];
  if (key === undefined) return 'no-key';
  const text = String(key);
  return `key-${getOrCreate(keyDigests, text, keyDigestsMax, () => digest(text).slice(0, 12))}`;
}

/** The digests of the last keys. */
const keyDigests = new Map<string, string>();
const keyDigestsMax = 100;

function digest(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32);
}

const clients: readonly (readonly [RegExp, string])[] = [
  [/^claude-cli|claude-code/i, 'claude-code'],
  [/^codex/i, 'codex'],
  [/gemini-?cli/i, 'gemini'],
  [/^opencode/i, 'opencode'],
];

function nameClient(userAgent: string | undefined): string {
  return clients.find(([pattern]) => pattern.test(userAgent ?? ''))?.[1] ?? 'gateway-client';
}
