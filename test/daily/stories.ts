/** All daily stories: honest work, then runaway agents. */

import { cycleStories } from './bad/cycles.ts';
import { failingStories } from './bad/failing.ts';
import { otherBadStories } from './bad/other.ts';
import { repeatingStories } from './bad/repeating.ts';
import { endlessWaitStories } from './bad/waiting.ts';
import { dataStories } from './healthy/data-and-research.ts';
import { debuggingStories } from './healthy/debugging.ts';
import { editStories } from './healthy/edits.ts';
import { everydayStories } from './healthy/everyday.ts';
import { longStories } from './healthy/long-work.ts';
import { refactoringStories } from './healthy/refactorings.ts';
import { searchStories } from './healthy/searches-and-waits.ts';
import { serviceStories } from './healthy/services.ts';
import { testStories } from './healthy/tests.ts';
import { waitingStories } from './healthy/waiting.ts';
import type { Story } from './story.ts';

export const stories: readonly Story[] = [
  ...dataStories,
  ...debuggingStories,
  ...editStories,
  ...everydayStories,
  ...longStories,
  ...refactoringStories,
  ...searchStories,
  ...serviceStories,
  ...testStories,
  ...waitingStories,
  ...cycleStories,
  ...failingStories,
  ...otherBadStories,
  ...repeatingStories,
  ...endlessWaitStories,
];
