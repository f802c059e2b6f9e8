/** Looks into a shared store once for all requests of one turn of the event loop. */

import type { Store } from '../../ports/store.ts';

const fresh = new WeakSet<Store>();

/** Learns what other processes have changed, unless this turn has done so; false if the store could not be read. */
export function refreshOnce(store: Store): boolean {
  if (fresh.has(store)) return true;
  try {
    store.shared?.refresh();
  } catch {
    return false;
  }
  fresh.add(store);
  setImmediate(() => fresh.delete(store));
  return true;
}
