/** The bounds of the gateway. */

/** Bytes of one request to a model that are held, and of all such requests together. */
export const modelRequestBytesMax = 64 * 1024 * 1024;
export const heldRequestBytesMax = 192 * 1024 * 1024;
/** Bytes of a whole answer, which is held until it is complete; a longer one is an error. */
export const answerBytesMax = 32 * 1024 * 1024;
/** Bytes of an event that are held back until it ends, and read; a longer event passes unread. */
export const heldEventBytesMax = 1_048_576;
/** Connections of clients. */
export const clientConnectionsMax = 4_096;
/** How long a client may take for the headers of a request. */
export const headersTimeoutMs = 30_000;
/** How long a client may keep an idle connection: longer than clients do, so that no request meets its end. */
export const idleConnectionMs = 120_000;
/** How long an upstream may be silent. */
export const upstreamSilenceMs = 600_000;
/** Output tokens that a call needs to begin, and by which its reservation grows. */
export const outputTokensMin = 1_000;
export const outputTokensStep = 250;
/** Output tokens without which a closing answer is not asked for. */
export const closingTokensMin = 200;
/** Output tokens of an answer without a limit, if it comes as a whole. */
export const wholeAnswerTokens = 16_384;
/** Models whose figures are remembered. */
export const modelFiguresMax = 500;
/** Tasks and watched conversations that are kept at once, and for how long after their last request. */
export const gatewayTasksMax = 2_000;
export const namedTaskIdleMs = 24 * 3_600_000;
/** Tasks below that of a run. Further conversations are counted on the run itself. */
export const runTasksMax = 1_000;
/** A request that names no task begins a new one after this time without requests of its key. */
export const unnamedTaskIdleMs = 30 * 60_000;
/** How long the growth of a reservation may wait for the store. */
export const growthWaitMaxMs = 2_000;
/** How often, and after which time, a call tries again while other gateways may have reserved the rest. */
export const growthRetriesMax = 3;
export const growthRetryMs = 400;
/** How long a call waits in all for money that other calls have reserved. */
export const reservationWaitMaxMs = 30_000;
/** A refused call that may come again within this time gets a status after which clients do so. */
export const briefWaitMs = 10_000;
/** How often the spending of a running call is saved. */
export const ledgerSaveMs = 200;
/** The part of what is left that one whole answer may reserve, if it is more than the model usually writes. */
export const wholeAnswerShare = 0.25;
/** How many usual answers long a whole answer may be, even if that is more than its part. */
export const wholeAnswerUsuals = 4;
/** How often a whole answer is tried with fewer tokens. */
export const shareRoundsMax = 8;
/** Bytes at the end of an event that passes unread, in which its usage is looked for. */
export const longEventTailBytes = 8_192;
/** How long requests may take to finish when the gateway ends. */
export const closeGraceMs = 1_000;
