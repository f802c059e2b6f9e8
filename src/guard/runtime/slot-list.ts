/**
 * A list without order, from which items are removed in constant time.
 *
 * A `Set` to which items come and go all the time, and which is never empty, makes a new table every few items, and
 * each table refers to the next one. As soon as one table is old, the garbage collector of young objects keeps all
 * later ones with their items.
 */
export class SlotList<T> {
  readonly #slots: Slot<T>[] = [];

  get size(): number {
    return this.#slots.length;
  }

  /** Adds an item; the function that it returns removes it, and returns false if it was removed before. */
  add(item: T): () => boolean {
    const slots = this.#slots;
    const slot = { item, at: slots.length };
    slots.push(slot);
    return () => {
      if (slots[slot.at] !== slot) return false;
      const last = slots.pop()!;
      if (last !== slot) {
        slots[slot.at] = last;
        last.at = slot.at;
      }
      return true;
    };
  }

  /** Calls a function with each item that is in the list now, unless it is removed before its turn. */
  forEach(use: (item: T) => void): void {
    const slots = this.#slots;
    for (const slot of [...slots]) if (slots[slot.at] === slot) use(slot.item);
  }

  some(matches: (item: T) => boolean): boolean {
    return this.#slots.some(({ item }) => matches(item));
  }
}

interface Slot<T> {
  readonly item: T;
  at: number;
}
