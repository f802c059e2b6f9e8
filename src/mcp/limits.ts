/** The bounds of the MCP proxy. */

/** Bytes of one message of an MCP client that are collected to be judged; a longer call is refused. */
export const callBytesMax = 16_777_216;
/** Bytes of one message of an MCP server that are read as a whole; a longer one is read while it passes. */
export const readBytesMax = 1_048_576;
/** Bytes of a list of tools that are collected to be read; a longer one does not pass where the policy limits it. */
export const listBytesMax = 8_388_608;
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
/** How long an MCP server may take to accept a connection, and a notification; and connections to it at once. */
export const connectMs = 10_000;
export const notifyMs = 10_000;
export const upstreamSocketsMax = 256;
/** Bytes of one message between a stdio side and an HTTP side, where it is held as a whole. */
export const messageBytesMax = 33_554_432;
/** The wait before a stream of events that ended is opened again, its longest, and how often without an event. */
export const resumeMs = 1_000;
export const resumeMaxMs = 30_000;
export const resumesMax = 5;
/** How long a client that lost its connection may take to go on with the stream of an answer. */
export const resumeWaitMs = 60_000;
/** How long the end of a session may take. */
export const deleteMs = 1_000;
/** Clients by HTTP: how long the head and the body of a request may take, connections, and bytes of bodies at once. */
export const requestHeadMs = 10_000;
export const requestMs = 60_000;
export const listenerConnectionsMax = 1_024;
export const bodiesBytesMax = 16_777_216;
/** Bodies that are short enough not to be counted; long ones that wait for their turn, and how long. */
export const shortBodyBytesMax = 65_536;
export const bodiesWaitingMax = 64;
export const bodyWaitMs = 10_000;
/** How often is looked whether a server has read a long message. */
export const readPollMs = 10;
/** Bytes of long messages after which the memory they used is freed. */
export const collectBytes = 8_388_608;
/** Bytes of short messages that are handed over together. */
export const joinedBytesMax = 65_536;
/** Bytes and time for which a refused body is still read, so that its client sees the answer. */
export const discardedBytesMax = 134_217_728;
export const discardMs = 5_000;
/** Sessions by HTTP: with server processes of their own, in front of a URL, how long unused, how often looked at. */
export const bridgeSessionsMax = 64;
export const relaySessionsMax = 1_000;
export const onceSessionsMax = 1_000;
export const sessionIdleMs = 600_000;
export const lostClientMs = 120_000;
/** How long a session must be unused to be ended for a new one. */
export const replacedIdleMs = 30_000;
export const sessionSweepMs = 30_000;
/** Bytes of messages that wait for a stdio server which does not read them, of one session and of all. */
export const serverBacklogBytesMax = 16_777_216;
export const backlogsBytesMax = 33_554_432;
/** An answer that takes longer is sent as events; the interval of signs of life; what is kept of events for later. */
export const answerPlainMs = 1_000;
export const beatMs = 15_000;
export const eventsBytesMax = 1_048_576;
export const keptStreamsMax = 32;
/** Tools whose arguments are repeated in headers, such headers of one tool, and levels of its schema. */
export const paramToolsMax = 1_000;
export const paramHeadersMax = 50;
export const paramLevelsMax = 20;
/** Ids of requests of clients that share a server: how many are remembered, and how long they may be. */
export const usedIdsMax = 1_000;
export const usedIdBytesMax = 64;
