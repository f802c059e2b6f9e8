/** Every bound of the engine, by name: collections, waits, retries and histories take their bounds from here. */

/** Rounds one action may make on the route before it is refused. */
export const roundsMax = 8;
/** Highest `half_open_permits`. */
export const halfOpenPermitsMax = 100;
/** Calls a count window may hold. */
export const windowCallsMax = 10_000;
/** Buckets of a time window. */
export const bucketsPerWindow = 6;
/** Trip times kept per breaker, for trips per hour. */
export const tripTimesMax = 32;
/** Refused calls that a task remembers, to recognize new proposals of them. */
export const refusedCallsMax = 16;
/** Breakers of a gear; the closed breaker that was idle longest is evicted first. */
export const breakersMax = 100_000;
/** Tasks of a gear at once. */
export const tasksMax = 1_000_000;
/** Depth of the task tree. */
export const taskDepthMax = 64;
/** Entries of the memory store's journal. */
export const journalEntriesMax = 10_000;
/** Cards of the memory store. */
export const cardsMax = 1_000;
/** Listeners of a gear. */
export const listenersMax = 1_000;
/** Times per frequency rule. */
export const frequencyHistoryMax = 10_000;
/** Rules in force at once. */
export const rulesMax = 10_000;
/** Rules that a model may add: every call looks at every rule. */
export const modelRulesMax = 100;
/** Characters of one rule. */
export const ruleLengthMax = 4_096;
/** Tokens of an assistant text that are compared. */
export const tokensMax = 512;
/** Characters of an assistant text that are read. */
export const textLengthMax = 65_536;
/** Characters of arguments and of results that a fingerprint reads. */
export const fingerprintLengthMax = 2_048;
/** Depth and entries of a value that a fingerprint reads. */
export const fingerprintDepthMax = 8;
export const fingerprintEntriesMax = 256;
/** Characters, depth and visited values of a foreign value that is read as text, and keys that one read lists. */
export const foreignTextMax = 4_096;
export const foreignDepthMax = 16;
export const foreignEntriesMax = 1_000;
export const foreignKeysMax = 100_000;
/** Characters of a JSON text that an output rule parses, and values of an output that it writes as text. */
export const parsedTextMax = 8_388_608;
export const stringifiedValuesMax = 1_000_000;
/** Values of a call's arguments that are visited for comparison with other calls. */
export const collectedValuesMax = 2_048;
/** Characters of a command or program in which comments and blanks are ignored. */
export const commandLengthMax = 8_192;
/** How long a returned stream may stay unread before its call settles without an outcome. */
export const unreadStreamMs = 60_000;
/** Characters of the message of an internal error. */
export const errorMessageMax = 1_000;
/** Workers that a session remembers. */
export const workersMax = 1_000;
/** Failures of a catch-all subagent type in a session, whatever its prompts, at which the type trips. */
export const catchAllFailuresMax = 5;
/** Characters of a foreign reason, name or message. */
export const reasonLengthMax = 200;
export const nameLengthMax = 256;
/** The longest time for which a call without a timeout keeps its task from being idle. */
export const patienceMaxMs = 600_000;
/** The length of a lease, and the interval of the sweep over leases and silent tasks. */
export const leaseMs = 15_000;
export const sweepMs = 1_000;
/** Retries of one call. */
export const retryAttemptsMax = 10;
/** How often a chain step that changes after its approval is asked about again. */
export const stepChangesMax = 5;

/** Retries of a halted task with raised limits. */
export const raisesMax = 3;
/** The longest delay of platform timers. */
export const timerMaxMs = 2_147_483_647;
/** Timers that a simulated clock runs in one step before it reports an endless loop. */
export const simulatedTimersMax = 1_000_000;
/** Size, tables and lists, depth, and reported problems of a policy document. */
export const policyBytesMax = 1_048_576;
export const policyEntriesMax = 10_000;
export const policyDepthMax = 8;
export const policyProblemsMax = 50;
/** Bytes of a policy file; and lines, commas and brackets of its text, their depth, and dots of one line. */
export const policyFileBytesMax = 262_144;
export const documentMarksMax = 25_000;
export const documentDepthMax = 256;
export const documentKeyPartsMax = 1_000;
/** Patterns of tools whose settings are compared with one another, and overrides that are compared one by one. */
export const comparedPatternsMax = 100;
/** YAML aliases that a policy file may use. */
export const documentAliasesMax = 100;
/** The highest count and the longest time in seconds of a setting. */
export const countMax = 1_000_000_000;
export const secsMax = 2_147_483;
/** Highest `loop.window_size`. */
export const loopWindowMax = 16;
/** Characters of a foreign value in a message. */
export const quoteLengthMax = 60;
/** Polling interval of a watched policy file. */
export const policyPollMs = 1_000;
/** The longest window of a frequency rule: ten years. */
export const frequencyWindowMaxMs = 315_576_000_000;
/** Histories of frequency rules, throttled rules, and tasks with a due output rule, each. */
export const ruleCellsMax = 10_000;
/** Lines and characters of one `<nyaya>` block. */
export const nyayaLinesMax = 1_000;
export const nyayaLengthMax = 65_536;
/** Ids of calls and usage reports that a task remembers, to count each once. */
export const countedIdsMax = 10_000;
/** Prompts that a task remembers, to distinguish a person's prompt from a repeating harness. */
export const promptsMax = 256;
/** How long a running call may take to return after its task halted, unless the halt was about time. */
export const callGraceMs = 2_000;
/** How long a model may take for the closing answer of a halted run. */
export const closingAnswerMs = 30_000;
/** Objects of a result or an error in which a refusal is looked for. */
export const haltSearchMax = 200;
/** How long the function of a halted task may take to return before its result is abandoned. */
export const haltGraceMs = 5_000;
/** Classes of an error's prototype chain that are read. */
export const classChainMax = 8;
/** Halted tasks that a gear remembers for a retry with raised limits. */
export const haltedTasksMax = 1_000;
/** Sets of breaker settings that a gear shares. */
export const sharedSettingsMax = 1_000;
/** Resolved call sites of a task, a gear or the process. */
export const callSitesMax = 10_000;
/** Worker failure cells of a gear, over all sessions: new ones, and older ones with failures. */
export const workerCellsMax = 50_000;
export const failedWorkersMax = 50_000;
/** Names that are reported once: models of unknown price, tools that refuse the credentials. */
export const reportedNamesMax = 1_000;
/** Settled calls that a task remembers; turns whose points are added up; texts and calls kept as tokens. */
export const pastCallsMax = 20;
export const turnsMax = 64;
export const recentTextsMax = 10;
/** The highest points of a turn, and sum of points, of a setting. */
export const pointsMax = 10_000;
/** Characters of a result that its mark reads. */
export const markLengthMax = 2_048;
/** Tool names with a cached habit. */
export const loopHabitsMax = 1_000;
/** Cells, sums and windows of a shared store, entries of its journal, and bytes of one cell. */
export const storedKeysMax = 1_000_000;
export const storedEntriesMax = 100_000;
export const cellBytesMax = 65_536;
/** Transactions queued while a store is unavailable; the oldest is dropped first. */
export const queuedTransactionsMax = 10_000;
/** Tries of a transaction that conflicts with another process. */
export const transactionTriesMax = 32;
/** How long a synchronous caller waits for a lock, an asynchronous one, and one operation of a remote store. */
export const lockWaitMs = 5;
export const lockPatienceMs = 2_000;
export const storeDeadlineMs = 20;
/** Wait between two attempts to reach an unavailable store. */
export const storeRetryMinMs = 250;
export const storeRetryMaxMs = 500;
/** Polling interval of a shared store without hints; a file is asked five times as often whether it has changed. */
export const storePollMs = 1_000;
/** The longest delay of a hint about a change that no caller waits for. */
export const hintLagMs = 5;
/** How long a store that lost its data grants neither money nor approvals, while other processes restore it. */
export const storeGraceMs = 2_000;
/** Cells of a remote store that a process caches, and that one request reads. */
export const knownCellsMax = 100_000;
export const storeBatchMax = 200;
/** Window marks that a process remembers, for a store that loses its data. */
export const ownMarksMax = 10_000;
/** How long a granted probe waits for its call. */
export const grantKeepMs = 1_000;
/** How long a granted probe waits for a caller that retries by itself: doubled while too short, up to the maximum. */
export const slowGrantKeepMs = 15_000;
export const grantKeepMaxMs = 240_000;
/** Successes of a shared breaker that wait for its next transaction. */
export const pendingSuccessesMax = 1_000;
/** Orders of one kind at once, and the life of an order without an expiry. */
export const ordersMax = 64;
export const orderKeepMs = 86_400_000;
/** How long a shared store keeps the failures of a worker after the last failure. */
export const workerKeepMs = 7 * 86_400_000;
/** Slices of a rolling budget window, budgets of a policy, and the highest limit and longest window of a budget. */
export const budgetSlices = 12;
export const budgetsMax = 100;
export const budgetLimitMax = 100_000_000_000;
export const budgetWindowMaxSecs = 366 * 86_400;
/** Budgets of sessions and agents in a gear; the oldest is evicted first, but what it has spent is kept for more. */
export const boundBudgetsMax = 10_000;
export const spentBudgetsMax = 100_000;
/** How long a shared store keeps the budget of a session after its last write. */
export const sessionBudgetKeepMs = 30 * 86_400_000;
/** How long a store must be unavailable before a process takes a probe locally. */
export const localProbeAfterMs = 5_000;
/** How long a store without another bound keeps cards after their last change: 30 days. */
export const cardKeepMs = 30 * 86_400_000;
/** Bytes of an ability's output, of one message of an MCP server, and of a process's stderr. */
export const abilityOutputBytesMax = 1_048_576;
export const mcpMessageBytesMax = 8_388_608;
export const stderrKeptBytes = 4_096;
/** How long an MCP server may take to start, to end by itself, and to end after a signal. */
export const mcpStartMs = 30_000;
export const mcpStopMs = 2_000;
/** Redirects that a request follows. */
export const httpRedirectsMax = 3;
/** Bytes, values, depth, parameters, rules and steps of a chain file, characters of one of its texts and names. */
export const chainBytesMax = 262_144;
export const chainValuesMax = 10_000;
export const chainDepthMax = 16;
export const chainParamsMax = 100;
export const chainRulesMax = 1_000;
export const chainStepsMax = 200;
export const chainTextMax = 65_536;
export const chainNameMax = 128;
/** Reported problems of a chain file. */
export const chainProblemsMax = 50;
/** Characters of a step's arguments after templates are filled. */
export const chainFilledMax = 1_048_576;
/** Chain runs that a memory store keeps and a list shows, and how long a store keeps one. */
export const chainRunsMax = 1_000;
export const runKeepMs = 30 * 86_400_000;
/** Characters of a long text per cell: they fit even if quoted twice. */
export const partLengthMax = 30_000;
export const textPartsMax = 100;
/** How long a step waits for its store before it starts, and how long its result waits for the store afterwards. */
export const stepStoreWaitMs = 10_000;
export const resultPatienceMs = 3_600_000;
/** Interval at which the owner of a chain run renews its lease. */
export const runRenewMs = 5_000;
/** Polling interval of a question without hints, time limit of a webhook, and bytes of its response. */
export const answerPollMs = 1_000;
export const webhookTimeoutMs = 10_000;
export const webhookBytesMax = 65_536;
/** Characters of arguments that a question shows, and of one text in them: the first that lets all of them fit. */
export const shownInputMax = 8_000;
export const shownTextMaxima = [4_000, 1_000, 250, 60] as const;
/** Levels and values of arguments that a question shows, and characters of them that are searched for secrets. */
export const shownDepthMax = 16;
export const shownEntriesMax = 1_000;
export const shownWorkMax = 200_000;
/** Characters of arguments that a list of questions shows. */
export const listedInputMax = 400;
/** Properties and levels of arguments that a digest reads; a larger call cannot be approved. */
export const canonicalEntriesMax = 100_000;
export const canonicalDepthMax = 400;
/** Bytes of a program that a digest reads, and programs among the arguments of a command. */
export const digestedBytesMax = 268_435_456;
export const digestedFilesMax = 64;
/** How long a removed input of a question leaves its empty cell in the store. */
export const removedInputKeepMs = 60_000;
/** Standing approvals in a list. */
export const standingApprovalsMax = 1_000;
/** Processes of a machine that are read, polling interval while a process tree ends, and rounds of killing it. */
export const processesMax = 65_536;
export const treePollMs = 50;
export const killRoundsMax = 40;
/** The longest test whether the system can run a command in a PID namespace. */
export const containProbeMs = 5_000;
/** How often a living tree is looked at: children of known processes, all processes, and all processes with `ps`. */
export const treeChildrenMs = 250;
export const treeScanMs = 1_000;
export const treeScanByPsMs = 10_000;
/** Processes of a tree that are remembered without its mark, that a sentence names, and that a chain step names. */
export const knownMembersMax = 1_000;
export const namedProcessesMax = 8;
export const stepLeftBehindMax = 20;
/** How long an agent may take to end after a signal, its remaining tools, and all of them without a watcher. */
export const agentGraceMs = 5_000;
export const leftoverGraceMs = 1_000;
export const watchdogGraceMs = 800;
/**
 * The beat between supervisor and watchdog; the silence after which a suspended one is continued, and how long it then
 * has to beat; the silence after which a running one counts as hung, and the time a new process has for its first beat.
 */
export const watchdogBeatMs = 1_000;
export const watchdogSilenceMs = 4_000;
export const watchdogAnswerMs = 3_000;
export const watchdogHungMs = 60_000;
/** A supervisor that is suspended again within this time is not continued a second time: its tree is ended. */
export const watchdogRelapseMs = 60_000;
/** Characters of the reason for a skipped step: all reasons share one cell. */
export const skipReasonMax = 100;
/** How long the remaining output of an ended agent is awaited. */
export const drainMs = 250;
/** Agent runs that a store lists, and how long a store keeps one after its last write. */
export const agentRunsMax = 1_000;
/** The ancestors of a process that are read. */
export const ancestorsMax = 1_000;
export const agentRunKeepMs = 90 * 86_400_000;
/** Characters of one line of an agent's stream; a longer line is skipped and counted. */
export const agentLineMax = 4_194_304;
/** Tasks that heartbeats of one run may open, and have open at once. */
export const heartbeatTasksMax = 10_000;
export const heartbeatsOpenMax = 100;
/** Refusals of one job that count as one; a caller that goes on is counted again. */
export const burstRefusalsMax = 100;
/** Open calls of an agent that a reader tracks. */
export const openCallsMax = 1_000;
/** Words that a paragraph of plain text needs to be compared. */
export const plainWordsMin = 8;
/** How long a framework's run may rest between calls before its task counts as ended. */
export const hostRestMs = 60_000;
/** Tries of a question whose answer is invalid. */
export const questionTriesMax = 5;
/** Interval of the status line of a run, characters of an activity line, and of an answer. */
export const statusDrawMs = 250;
export const progressLengthMax = 160;
export const answerLengthMax = 10_485_760;
/** Different calls of a run that are counted, to find the most frequent one. */
export const countedCallsMax = 1_000;
/** Interval at which the usage of a run is saved, and at which the output of a halted run is polled. */
export const runSaveEveryMs = 5_000;
export const haltedDrainMs = 5_000;
/** Shortest interval between reported signs of life. */
export const signEveryMs = 200;
/** Bytes of a session file per read, and session files of one run. */
export const tailBytesMax = 8_388_608;
export const sessionFilesMax = 1_000;
/** Framework runs that are tracked at once. */
export const hostRunsMax = 10_000;
/** Polling interval of an agent's session files. */
export const sessionPollMs = 1_000;
/** Shortest interval between two reads of session files that the stream triggers. */
export const sessionNewsMs = 50;
/** The longest delay after which a watcher of calls sees changes of other processes. */
export const foreignChangesPollMs = 20;
/** Tasks that a gear publishes on a shared store, how many it writes per sweep, and how often mere signs of life. */
export const publishedTasksMax = 10_000;
export const publishedWritesMax = 50;
export const publishedSignsMs = 10_000;
/** How long a store keeps a running task, a lost task, and a process's sign of life. */
export const publishedKeepMs = 30 * 86_400_000;
export const lostKeepMs = 3_600_000;
export const ownerKeepMs = 60_000;
/** Open calls of a task in hooks, repeated answers, and subagents and prompts of a session. */
export const hookCallsMax = 48;
export const hookAnswersMax = 16;
export const hookAgentsMax = 40;
export const hookPromptsMax = 32;
/**
 * Characters, commands, nested scripts and compound commands of a shell call that are read, possible values of a word,
 * and words and paths of a command. A call with more is asked about. Linux passes no longer text to `sh -c`.
 */
export const shellTextMax = 131_072;
export const shellCommandsMax = 1_000;
export const shellDepthMax = 8;
export const shellNestingMax = 50;
export const shellAlternativesMax = 256;
export const callPathsMax = 1_000;
/** Bytes of an index of git in which a file is looked for, and folders above a file. */
export const gitIndexBytesMax = 33_554_432;
export const pathDepthMax = 100;
/** Prompts that no person typed after which a card is opened. */
export const earlyPromptsMax = 2;
/** Processes that run hooks of one session. */
export const hookHostsMax = 8;
/** The lease of a session's lock, and the shortest and longest interval of the hooks that wait for the lock. */
export const hookLeaseMs = 5_000;
export const hookLockPollMinMs = 4;
export const hookLockPollMaxMs = 40;
/** The default hook timeout of hosts, the share that a hook leaves unused, and the longest wait of a call. */
export const hookTimeoutMs = 60_000;
export const hookMarginMs = 5_000;
export const hookWaitMaxMs = 10_000;
/** How often hosts of hooks, clients and runs are recorded again; how long one out of sight counts as running. */
export const hostRecordMs = 5 * 60_000;
export const hostSilenceMs = 60 * 60_000;
/** How long a store keeps the state of a hooked session after its last event. */
export const hookKeepMs = 30 * 86_400_000;
/** Bytes of one payload, and characters of a stored answer: a whole task must fit into one cell. */
export const hookPayloadBytesMax = 16_777_216;
export const hookReasonMax = 500;
/** Characters of a provider's request or response that are read for model and cost. */
export const fetchBodyMax = 8_388_608;
/** How long a program may outlive the agent that started it before it counts as left behind. */
export const leftBehindMs = 200;
/** The shortest retry delay of a call that waits for the store. */
export const retryDelayMs = 10;
/** Tools that hooks report to their run; calls whose loops a run leaves to hooks, and their interval. */
export const hookedToolsMax = 200;
export const loopsLeftCallsMax = 8;
export const loopsLeftGapMax = 3;
/** Nested agents that a run books, and of each the session files and the ids of calls that are remembered. */
export const nestedAgentsMax = 100;
export const nestedFilesMax = 8;
export const nestedIdsMax = 8;
/** Characters of a call's arguments in the journal: redacted, and in full. */
export const redactedContentMax = 200;
export const fullContentMax = 4_096;
/** Bytes of a transcript that one hook reads, and messages with known usage. */
export const hookHistoryBytes = 262_144;
export const hookTranscriptBytesMax = 1_048_576;
export const hookUsagesMax = 8;
/** Model prices that hooks cache, and for how long. */
export const hookPricesMax = 64;
export const hookPricesKeepMs = 86_400_000;
