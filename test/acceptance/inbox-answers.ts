/** The verbs of the inbox for a halted task: each with the answer that the program gets, and its words. */
export const inboxAnswers = [
  ['retry', 'retry_raised', undefined],
  ['narrow', 'narrow_scope', 'top 20'],
  ['pause', 'pause', undefined],
  ['replan', 'replan', 'begin with the tests'],
  ['dismiss', 'dismiss', undefined],
] as const;
