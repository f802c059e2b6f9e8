/** Type tests of the adapter for the Claude Agent SDK: compiled, never run. */

import { query } from '@anthropic-ai/claude-agent-sdk';
import { protect } from 'switchgear/adapters/claude-agent-sdk';
import type { Equal, Expect } from '../equal.ts';

const guarded = protect(query);

export type Same = [Expect<Equal<typeof guarded, typeof query>>];
