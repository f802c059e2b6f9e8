/** Token counts of opencode in the form of all CLIs. */

import type { Tokens } from '../reading/agent-event.ts';
import { asCount, asObject, type JsonObject } from '../reading/reader.ts';
import { sumSeparateCounts } from '../reading/tokens.ts';

/** Reads the tokens of an opencode message, which reports every count apart. */
export function opencodeTokens(tokens: JsonObject): Tokens {
  const cache = asObject(tokens.cache);
  const output = asCount(tokens.output) + asCount(tokens.reasoning);
  return sumSeparateCounts(tokens.input, output, cache.read, cache.write);
}
