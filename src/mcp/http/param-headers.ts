/**
 * Arguments of a tool that its schema wants repeated in headers (`x-mcp-header`), since 2026-07-28. A client on stdio
 * does not send them, so they are made here from the lists of tools that it was given.
 */

import type { OutgoingHttpHeaders } from 'node:http';
import { paramHeadersMax, paramLevelsMax, paramToolsMax } from '../limits.ts';
import { isModern, type RpcMessage, readObject } from '../message.ts';
import { encodeHeader } from './message-headers.ts';

/** An argument that is repeated in a header: the names of members that lead to it, and the name of the header. */
interface ParamHeader {
  readonly path: readonly string[];
  readonly name: string;
}

const token = /^[\w!#$%&'*+.^`|~-]{1,100}$/;

export class ParamHeaders {
  /** The headers of each tool that has some. */
  readonly #tools = new Map<string, readonly ParamHeader[]>();

  /** Reads an answer to `tools/list`. */
  readList(result: unknown): void {
    const tools = readObject(result)?.tools;
    if (!Array.isArray(tools)) return;
    for (const each of tools) {
      const tool = readObject(each);
      if (typeof tool?.name !== 'string') continue;
      const found = findHeaders(tool.inputSchema);
      if (found.length === 0) this.#tools.delete(tool.name);
      else if (this.#tools.size < paramToolsMax || this.#tools.has(tool.name)) this.#tools.set(tool.name, found);
    }
  }

  /** The headers of a call of a tool. */
  make(message: RpcMessage | undefined): OutgoingHttpHeaders {
    if (this.#tools.size === 0 || message?.method !== 'tools/call') return {};
    const params = readObject(message.params);
    const wanted = isModern(params) ? this.#tools.get(String(params?.name)) : undefined;
    const pairs = (wanted ?? []).flatMap(({ path, name }) => {
      const text = writeArgument(
        path.reduce<unknown>((value, member) => readObject(value)?.[member], params?.arguments),
      );
      return text === undefined ? [] : [[`mcp-param-${name}`, encodeHeader(text)] as const];
    });
    return Object.fromEntries(pairs);
  }
}

/** The declarations in the properties of a schema. */
function findHeaders(schema: unknown, path: readonly string[] = []): readonly ParamHeader[] {
  const properties = path.length < paramLevelsMax ? readObject(readObject(schema)?.properties) : undefined;
  const found = Object.entries(properties ?? {}).flatMap(([member, property]) => {
    const name = readObject(property)?.['x-mcp-header'];
    const here = [...path, member];
    return typeof name === 'string' && token.test(name) ? [{ path: here, name }] : findHeaders(property, here);
  });
  return found.slice(0, paramHeadersMax);
}

/** A text, number or truth value as its header says it; undefined if it has no header. */
function writeArgument(value: unknown): string | undefined {
  if (typeof value === 'number')
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : `${value}`;
  return typeof value === 'string' || typeof value === 'boolean' ? `${value}` : undefined;
}
