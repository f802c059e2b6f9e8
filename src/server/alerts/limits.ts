/** Every bound of alerts and webhooks, by name. */

/** How often causes are looked for, and new cards are sent. */
export const evaluateMs = 5_000;
export const deliverMs = 1_000;
/** Entries of the journal that are read at once, and how far a webhook may advance before its place is stored. */
export const scanEntriesMax = 500;
export const cursorStepMax = 200;
/** Cards of one scan from which on a webhook gets one message about all of them. */
export const digestMin = 20;
/** The longest wait for an answer; waits between attempts; attempts and time until a message is given up. */
export const sendTimeoutMs = 10_000;
export const retryMinMs = 1_000;
export const retryMaxMs = 300_000;
export const attemptsMax = 12;
export const giveUpMs = 3_600_000;
/** Characters of a text, and texts of a list, in a message. */
export const messageTextMax = 500;
export const messageLinesMax = 10;
/** Messages that wait in memory while the store is away. */
export const directMessagesMax = 100;
