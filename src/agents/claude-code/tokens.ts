/** Token counts of Claude Code in the form of all CLIs; those of a message are read by `anthropicTokens`. */

import type { Tokens } from '../reading/agent-event.ts';
import type { JsonObject } from '../reading/reader.ts';
import { sumSeparateCounts } from '../reading/tokens.ts';

/** Reads the sums that Claude Code prints at the end of a run. */
export function claudeModelTokens(usage: JsonObject): Tokens {
  return sumSeparateCounts(
    usage.inputTokens,
    usage.outputTokens,
    usage.cacheReadInputTokens,
    usage.cacheCreationInputTokens,
  );
}
