/** Rewrites the servers in the text of a client's configuration; everything else keeps its bytes. */

import { isDeepStrictEqual } from 'node:util';
import { parseJsonTree, replaceMember } from '../../../hooks/install/json-edit.ts';
import { type ClientName, findNode, listServers } from './client-files.ts';
import { isProxied, type MemberChanges, type ProxyProgram, planDirect, planProxy } from './server-entry.ts';

/** A server whose entry changes. */
export interface ChangedServer {
  readonly name: string;
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
}

export interface RewrittenServers {
  readonly text: string;
  readonly changed: readonly ChangedServer[];
  /** Servers that cannot run behind the proxy, and why. */
  readonly left: readonly { readonly name: string; readonly reason: string }[];
  /** How many servers run behind the proxy now. */
  readonly proxied: number;
}

/** Makes every server of a configuration run behind the proxy. */
export function addProxy(client: ClientName, text: string, program: ProxyProgram): RewrittenServers {
  let next = text;
  const changed: ChangedServer[] = [];
  const left: { name: string; reason: string }[] = [];
  const servers = listServers(client, text);
  for (const { name, keys, entry } of servers) {
    const plan = planProxy(name, entry, program);
    if (plan === undefined) continue;
    if ('left' in plan) {
      left.push({ name, reason: plan.left });
      continue;
    }
    next = changeMembers(next, keys, plan.changes);
    changed.push(describeChange(name, entry, plan.changes));
  }
  return { text: next, changed, left, proxied: servers.length - left.length };
}

/**
 * Makes servers run without the proxy. An entry that used the proxy in the earlier text as well stays; one that
 * becomes what it was there gets its earlier bytes.
 */
export function removeProxy(client: ClientName, text: string, earlier: string | undefined): RewrittenServers {
  let next = text;
  const changed: ChangedServer[] = [];
  const originals = new Map(listEarlier(client, earlier).map((each) => [each.keys.join('\0'), each]));
  for (const { name, keys, entry } of listServers(client, text)) {
    const original = originals.get(keys.join('\0'));
    const plan = original !== undefined && isProxied(original.entry) ? undefined : planDirect(entry);
    if (plan === undefined) continue;
    if ('changes' in plan) next = changeMembers(next, keys, plan.changes);
    const node = findNode(parseJsonTree(next), keys)!;
    const value = 'changes' in plan ? node.value : withType(plan.whole, original?.entry);
    const isOriginal = original !== undefined && isSameEntry(value, original.entry);
    if (isOriginal) {
      const bytes = earlier!.slice(original.node.start, original.node.end);
      next = next.slice(0, node.start) + bytes + next.slice(node.end);
    } else if ('whole' in plan) next = next.slice(0, node.start) + JSON.stringify(value) + next.slice(node.end);
    const change =
      'changes' in plan ? describeChange(name, entry, plan.changes) : { name, before: entry, after: plan.whole };
    const hasNoArgs = isOriginal && !Object.hasOwn(original.entry, 'args');
    changed.push(hasNoArgs ? { ...change, after: { ...change.after, args: undefined } } : change);
  }
  return { text: next, changed, left: [], proxied: 0 };
}

function listEarlier(client: ClientName, earlier: string | undefined): ReturnType<typeof listServers> {
  try {
    return earlier === undefined ? [] : listServers(client, earlier);
  } catch {
    return []; // A text that was not valid cannot have been changed.
  }
}

/** An entry with an address in the words of the earlier one, which the proxy does not keep. */
function withType(whole: ChangedServer['after'], original: ChangedServer['after'] | undefined): ChangedServer['after'] {
  const { url, ...rest } = whole;
  const named = original?.httpUrl === url ? { httpUrl: url, ...rest } : whole;
  return original?.type === undefined || whole.type === undefined ? named : { ...named, type: original.type };
}

/** Whether two entries are the same; an entry without arguments may have an empty list. */
function isSameEntry(value: unknown, original: Readonly<Record<string, unknown>>): boolean {
  return isDeepStrictEqual(value, original) || isDeepStrictEqual(value, { ...original, args: original.args ?? [] });
}

/** Replaces members of the object at a path of keys. */
function changeMembers(text: string, keys: readonly string[], changes: MemberChanges): string {
  let next = text;
  for (const [key, members] of changes) {
    const node = findNode(parseJsonTree(next), keys)!;
    next = replaceMember(next, node, node.parts.findLast((part) => part.key === key)!, members);
  }
  return next;
}

function describeChange(name: string, entry: Readonly<Record<string, unknown>>, changes: MemberChanges): ChangedServer {
  const before = Object.fromEntries([...changes.keys()].map((key) => [key, entry[key]]));
  return { name, before, after: Object.assign({}, ...changes.values()) as ChangedServer['after'] };
}
