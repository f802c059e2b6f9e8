/** What a tool of an MCP server said, as the output of a step. */

import type { CallToolResult } from '@modelcontextprotocol/client';
import { reasonLengthMax } from '../../../core/limits.ts';
import { AbilityError } from '../ability-error.ts';
import { parseTextValue, toPlainOutput } from '../ability-output.ts';

/** The output: structured content, else its texts joined, as JSON where they are; other content as it is. */
export function readToolOutput(name: string, { content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  if (isError === true) {
    const message = texts.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, reasonLengthMax);
    throw new AbilityError(message === '' ? `${name} failed and does not say why` : `${name} failed: ${message}`);
  }
  if (structuredContent !== undefined) return toPlainOutput(name, structuredContent);
  if (texts.length < content.length) return toPlainOutput(name, content);
  return toPlainOutput(name, texts.length === 0 ? null : parseTextValue(texts.join('\n')));
}
