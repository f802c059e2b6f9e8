/** The surfaces on which stories are played. */

import { playGateway } from './play-gateway.ts';
import { playHooks } from './play-hooks.ts';
import { playLibrary } from './play-library.ts';
import { playCodexRun, playRun } from './play-run.ts';
import type { Player } from './played.ts';

export const players: Readonly<Record<string, Player>> = {
  library: playLibrary,
  hooks: playHooks,
  gateway: playGateway,
  run: playRun,
  codex: playCodexRun,
};

/** How long a model needs for an answer: as good as nothing, and as long as a large one. */
export const speeds: readonly number[] = [0, 6];
