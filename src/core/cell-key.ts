/** Builds the keys of cells in a store. */

/**
 * Joins parts into a key. Each part is encoded, so that a foreign name cannot be read as two
 * parts; half a surrogate becomes a replacement character.
 */
export function cellKey(...parts: readonly string[]): string {
  return parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/');
}
