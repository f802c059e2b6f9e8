/** The bounds of the MCP proxy. */

/** Bytes of one message of an MCP client that are collected to be judged; a longer call is refused. */
export const callBytesMax = 16_777_216;
/** Bytes of one message of an MCP server that are read as a whole; a longer one is read while it passes. */
export const readBytesMax = 1_048_576;
/** Bytes of an id, method or word of an MCP message that are read while the message passes. */
export const tokenBytesMax = 1_024;
/** Messages from which the members of a message are looked for one by one instead of parsed. */
export const parseBytesMax = 16_384;
/** Requests of an MCP client that wait for their answers, and answers that come too late. */
export const pendingMax = 10_000;
/** Bytes of own messages that wait for a slow MCP client before no more of its messages are read. */
export const backlogBytesMax = 262_144;
/** How long an MCP server may take to end after its input ended, and after a signal. */
export const endMs = 900;
export const endSignalMs = 400;
/** The longest time of a relayed call, unless the policy sets one. */
export const callSecs = 600;
/** The first and the longest wait before an MCP server that ended is started again, and the time for its handshake. */
export const restartMinMs = 250;
export const restartMaxMs = 30_000;
export const handshakeMs = 30_000;
/** The longest wait for a breaker that is open; then the breaker is looked at again. */
export const refusedWaitMaxMs = 60_000;
/** Bytes of requests that are held while a server is started again; a longer wait answers them at once. */
export const heldBytesMax = 1_048_576;
export const heldMs = 5_000;
