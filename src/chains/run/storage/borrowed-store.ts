/** A view of a store for one gear: closing the gear leaves the store open and removes only the gear's watchers. */

import type { SharedStore, Store } from '../../../ports/store.ts';

export interface BorrowedStore {
  readonly store: Store;
  /** Removes the gear's watchers. */
  release(): void;
}

export function borrowStore(store: Store): BorrowedStore {
  const unwatchers: (() => void)[] = [];
  const { shared } = store;
  const watch: SharedStore['watch'] = (listener) => {
    const unwatch = shared!.watch(listener);
    unwatchers.push(unwatch);
    return unwatch;
  };
  const borrowed = Object.create(store, { close: { value: () => {} } }) as Store;
  return {
    store:
      shared === undefined
        ? borrowed
        : Object.create(borrowed, { shared: { value: Object.create(shared, { watch: { value: watch } }) } }),
    release() {
      for (const unwatch of unwatchers) unwatch();
    },
  };
}
