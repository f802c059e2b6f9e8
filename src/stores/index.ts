/** The entry point `switchgear/stores`: the types and parts for writing a store. */

export { createSharing, type Sharing, type SharingOptions } from '../coordination/index.ts';
export type {
  Cell,
  CellOptions,
  CellUpdate,
  Change,
  CounterAdd,
  PendingEntry,
  SharedStore,
  Store,
  StoredCell,
  StoreHealth,
  StoreHint,
  Transaction,
  TransactionResult,
  WindowCount,
  WindowMark,
} from '../ports/store.ts';
export { memoryStore } from './memory.ts';
