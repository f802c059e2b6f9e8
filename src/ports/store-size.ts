/** How full a store is. */

/** How full a store is, and its bounds; a part that the store does not know is absent. */
export interface StoreSize {
  /** Entries of the journal, and the most of them. */
  readonly entries?: number;
  readonly entriesMax?: number;
  /** Bytes in use, and the number above which the store drops its oldest entries. */
  readonly bytes?: number;
  readonly bytesMax?: number;
  /** Cells, and the most of them. */
  readonly cells?: number;
  readonly cellsMax?: number;
  /** How long entries are kept. */
  readonly keepDays?: number;
}
