/** Every bound of the server, by name. */

/**
 * Ports that are tried, connections, bytes of a request body, milliseconds until a
 * request must be complete, and rows of one answer.
 */
export const serverPortsTried = 20;
export const serverConnectionsMax = 1_024;
export const requestBytesMax = 65_536;
export const requestTimeoutMs = 10_000;
export const answerRowsMax = 1_000;
/**
 * Tokens of a store, sessions of one token, how long a session of a browser lasts, wrong tokens of one address in one
 * minute, and how long the answer to each further one is delayed.
 */
export const serverTokensMax = 100;
export const tokenSessionsMax = 32;
export const sessionKeepMs = 43_200_000;
export const failedTokensMax = 10;
export const failedTokenDelayMs = 250;
export const failedTokensWindowMs = 60_000;
export const failedAddressesMax = 1_000;
/**
 * Event streams: clients, entries of the shared buffer, entries a client may lag behind before it must resynchronize,
 * polling interval while entries come, how long after the last one, and the interval then, heartbeat, and how long a
 * client may leave its data unread.
 */
export const streamClientsMax = 512;
export const streamBufferMax = 2_000;
export const streamLagMax = 10_000;
export const streamPollMs = 25;
export const streamBusyMs = 1_000;
export const streamIdlePollMs = 100;
export const streamBeatMs = 15_000;
export const streamStuckMs = 60_000;
/** How often the server looks for snoozed cards whose time is over. */
export const snoozeCheckMs = 500;
