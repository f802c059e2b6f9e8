/** What a tool of an MCP server said, as the output of a step. */

import type { CallToolResult } from '@modelcontextprotocol/client';
import { reasonLengthMax } from '../../../core/limits.ts';
import { AbilityError } from '../ability-error.ts';
import { plainOutput, textValue } from '../ability-output.ts';

/** The output: structured content, else its texts joined, as JSON where they are; other content as it is. */
export function toolOutput(name: string, { content, structuredContent, isError }: CallToolResult): unknown {
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  if (isError === true) {
    const said = texts.join(' ').replaceAll(/\s+/g, ' ').trim().slice(0, reasonLengthMax);
    throw new AbilityError(said === '' ? `${name} failed and does not say why` : `${name} failed: ${said}`);
  }
  if (structuredContent !== undefined) return plainOutput(name, structuredContent);
  if (texts.length < content.length) return plainOutput(name, content);
  return plainOutput(name, texts.length === 0 ? null : textValue(texts.join('\n')));
}
