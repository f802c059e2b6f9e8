/** All views, in the order of the navigation. */

import { breakersView } from './breakers.tsx';
import { chainsView } from './chains.tsx';
import { historyView } from './history.tsx';
import { inboxView } from './inbox.tsx';
import { standingView } from './standing.tsx';
import { storeView } from './store.tsx';
import { tasksView } from './tasks.tsx';
import type { View } from './view.ts';

export const views: readonly View[] = [
  inboxView,
  historyView,
  standingView,
  breakersView,
  tasksView,
  chainsView,
  storeView,
];
