/** Keys of cells, and the names of sessions in them that nobody named: of a gear, and of a root task. */

/**
 * Joins parts into a key. Each part is encoded, so that a foreign name cannot be read as two
 * parts; half a surrogate becomes a replacement character.
 */
export function cellKey(...parts: readonly string[]): string {
  return parts.map((part) => encodeURIComponent(part.toWellFormed())).join('/');
}

/** The session of a gear, for calls outside any task. */
export function generateSession(unique: string): string {
  return `s-${unique}`;
}

/** The session of a root task: a conversation of its own (R37). */
export function ownSession(task: string): string {
  return `s-${task}`;
}

/** Whether a session was generated, and is no conversation that somebody named. */
export function isGeneratedSession(session: string): boolean {
  return /^s-[\w-]+-\d+$/.test(session);
}
