/** A store as one gear among several sees it: what that gear lets go of stays open for the others. */

import type { Shared, Store } from '../../../ports/store.ts';

export interface LentStore {
  readonly store: Store;
  /** Takes back what the gear listened to. */
  takeBack(): void;
}

export function lendStore(store: Store): LentStore {
  const listened: (() => void)[] = [];
  const { shared } = store;
  const watch: Shared['watch'] = (listener) => {
    const unwatch = shared!.watch(listener);
    listened.push(unwatch);
    return unwatch;
  };
  const lent = Object.create(store, { close: { value: () => {} } }) as Store;
  return {
    store:
      shared === undefined
        ? lent
        : Object.create(lent, { shared: { value: Object.create(shared, { watch: { value: watch } }) } }),
    takeBack() {
      for (const unwatch of listened) unwatch();
    },
  };
}
