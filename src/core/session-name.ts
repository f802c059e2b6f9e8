/** The names of sessions that nobody named: of a gear, and of a root task. */

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
