/** Every bound of the engine, by name. A collection, wait, retry or history takes its bound from here. */

/** Rounds one action may make on the route before it is refused. */
export const roundsMax = 8;
/** Probes a half-open breaker may be told to admit at once. */
export const halfOpenPermitsMax = 100;
/** Calls a count window may hold. */
export const windowCallsMax = 10_000;
/** Parts of a time window. */
export const bucketsPerWindow = 6;
/** Trip times kept per breaker, for trips per hour. */
export const tripTimesMax = 32;
/** Refused calls a task remembers, to see them proposed again. */
export const refusedCallsMax = 16;
/** Breakers a gear keeps; the idlest closed one goes first. */
export const breakersMax = 100_000;
/** Tasks a gear keeps at once. */
export const tasksMax = 1_000_000;
/** Depth of the task tree. */
export const taskDepthMax = 64;
/** Entries the memory store keeps. */
export const journalEntriesMax = 10_000;
/** Cards the memory store keeps. */
export const cardsMax = 1_000;
/** Listeners of a gear. */
export const listenersMax = 1_000;
/** Timestamps kept per frequency rule. */
export const frequencyHistoryMax = 10_000;
/** Rules in force at once. */
export const rulesMax = 10_000;
/** Characters of one rule. */
export const ruleLengthMax = 4_096;
/** Tokens of one assistant text that are compared. */
export const tokensMax = 512;
/** Characters of one assistant text that are looked at. */
export const textLengthMax = 65_536;
/** Characters of arguments and of results that a fingerprint looks at. */
export const fingerprintLengthMax = 2_048;
/** Depth and entries of a value that a fingerprint walks. */
export const fingerprintDepthMax = 8;
export const fingerprintEntriesMax = 256;
/** Workers a session remembers. */
export const workersMax = 1_000;
/** Characters of a reason, name or message taken from outside. */
export const reasonLengthMax = 200;
export const nameLengthMax = 256;
/** A call that nobody gave a timeout keeps its task from being idle at most this long. */
export const patienceMaxMs = 600_000;
/** How long a lease runs, and how often leases and silent tasks are looked at. */
export const leaseMs = 15_000;
export const sweepMs = 1_000;
/** Retries of the retry helper. */
export const retryAttemptsMax = 10;
/** How often a halted task may be tried again with raised limits. */
export const raisesMax = 3;
/** The longest delay the timers of the platform take. */
export const timerMaxMs = 2_147_483_647;
/** Timers a simulated clock runs in one move before it says that somebody spins. */
export const simulatedTimersMax = 1_000_000;
/** Size, tables and lists, depth and reported problems of a policy document. */
export const policyBytesMax = 1_048_576;
export const policyEntriesMax = 10_000;
export const policyDepthMax = 8;
export const policyProblemsMax = 50;
/** YAML aliases a policy file may follow. */
export const policyAliasesMax = 100;
/** The highest count and the longest time in seconds that a setting takes. */
export const countMax = 1_000_000_000;
export const secsMax = 2_147_483;
/** Outputs in a row that may be compared. */
export const loopWindowMax = 16;
/** Characters of a foreign value that a message quotes. */
export const quoteLengthMax = 60;
/** How often a watched policy file is looked at. */
export const policyPollMs = 1_000;
/** The longest window of a frequency rule: ten years. */
export const frequencyWindowMaxMs = 315_576_000_000;
/** Histories of frequency rules, throttled rules, and tasks with a rule's consequence still due, each. */
export const ruleCellsMax = 10_000;
/** Lines and characters of one `<nyaya>` block. */
export const nyayaLinesMax = 1_000;
export const nyayaLengthMax = 65_536;
/** Ids of calls and usage reports a task remembers, to count each once. */
export const countedIdsMax = 10_000;
/** Prompts a task remembers, to tell a person's new words from a harness that repeats itself. */
export const promptsMax = 256;
/** How long a halted task's function may take to come back before its result is given up. */
export const haltGraceMs = 5_000;
/** Classes of an error's chain that are looked at. */
export const classChainMax = 8;
/** Halted tasks a gear remembers, to be tried again with raised limits. */
export const haltedTasksMax = 1_000;
/** Sets of breaker settings a gear keeps, to share them. */
export const sharedSettingsMax = 1_000;
/** Targets that a task, a gear or the process keeps resolved. */
export const callSitesMax = 10_000;
/** Workers of all sessions whose failures a gear keeps; the oldest goes first. */
export const workerCellsMax = 100_000;
/** Models of unknown price that are told of. */
export const rememberedModelsMax = 1_000;
/** Settled calls a task remembers, to see what is repeated; turns that are weighed; texts and calls kept as words. */
export const pastCallsMax = 20;
export const turnsMax = 64;
export const recentTextsMax = 10;
/** The highest weight of a turn, and sum of weights, that a setting takes. */
export const pointsMax = 10_000;
/** Characters of a result that its mark looks at. */
export const markLengthMax = 2_048;
/** Names whose habit is kept. */
export const loopHabitsMax = 1_000;
/** Cells, sums and windows that a shared store takes, entries of its journal, and bytes of one cell. */
export const storedKeysMax = 1_000_000;
export const storedEntriesMax = 100_000;
export const cellBytesMax = 65_536;
/** Deals that wait for a store that is away; the oldest goes first. */
export const queuedTransactionsMax = 10_000;
/** How often a step is run again because somebody else was faster. */
export const transactionTriesMax = 32;
/** How long a synchronous caller waits for a lock, an asynchronous one, and one operation of a remote store. */
export const lockWaitMs = 5;
export const lockPatienceMs = 2_000;
export const storeDeadlineMs = 20;
/** How long a store that is away is left alone between two attempts. */
export const storeRetryMinMs = 250;
export const storeRetryMaxMs = 500;
/** How often a shared store is looked at without any hint. */
export const storePollMs = 1_000;
/** How long at most after a change that nobody waits for the other processes are told of it. */
export const hintLagMs = 5;
/** How long a store that forgot gives neither money nor approvals, while those who remember tell it. */
export const storeGraceMs = 2_000;
/** Cells of a remote store that a process knows, and that are read at once. */
export const knownCellsMax = 100_000;
export const storeBatchMax = 200;
/** Marks in windows that a process remembers, for a store that forgets. */
export const ownMarksMax = 10_000;
/** How long a probe waits for a call after it was granted, and successes that wait for the next failure. */
export const grantKeepMs = 1_000;
/** The same where the caller could not wait and comes back at its own pace; doubled while that is too soon, up to. */
export const slowGrantKeepMs = 15_000;
export const grantKeepMaxMs = 240_000;
export const pendingSuccessesMax = 1_000;
/** Orders of one kind that stand at once, and how long one stands that has no end of its own. */
export const ordersMax = 64;
export const orderKeepMs = 86_400_000;
/** How long a shared store keeps the failures of a worker after the last one: sessions come and go. */
export const workerKeepMs = 7 * 86_400_000;
/** Parts of a rolling budget window, budgets of a policy, and the highest limit and the longest window of one. */
export const budgetSlices = 12;
export const budgetsMax = 100;
export const budgetLimitMax = 100_000_000_000;
export const budgetWindowMaxSecs = 366 * 86_400;
/** Budgets of sessions and agents that a gear keeps; the oldest goes first. */
export const boundBudgetsMax = 10_000;
/** How long a shared store keeps the budget of a session after it was last written: sessions come and go. */
export const sessionBudgetKeepMs = 30 * 86_400_000;
/** How long a store must be away before a process that is refused a probe takes one by itself. */
export const localProbeAfterMs = 5_000;
/** How long a store that has no other bound for them keeps cards after they last changed: thirty days. */
export const cardKeepMs = 30 * 86_400_000;
/** Bytes of what an ability gives back, of one message of an MCP server, and of what a process wrote to its stderr. */
export const abilityOutputBytesMax = 1_048_576;
export const mcpMessageBytesMax = 8_388_608;
export const stderrKeptBytes = 4_096;
/** How long an MCP server may take to start, and, each, to end by itself and after it was asked to. */
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
/** Problems of a chain file that are told. */
export const chainProblemsMax = 50;
/** Characters that the arguments of a step may have once they are filled. */
export const chainFilledMax = 1_048_576;
/** Runs of chains that a memory store keeps and a list shows, and how long a store keeps one. */
export const chainRunsMax = 1_000;
export const runKeepMs = 30 * 86_400_000;
/** Characters of a long text that lie in one cell: quoted twice they still fit. */
export const partLengthMax = 30_000;
export const textPartsMax = 100;
/** How long a step waits for its store before it begins, and how long a result is kept in hand after it ran. */
export const stepStoreWaitMs = 10_000;
export const resultPatienceMs = 3_600_000;
/** How often the one who runs a chain says that it lives. */
export const runRenewMs = 5_000;
/** How often a question is looked at without any hint, how long a webhook may take, and bytes of its answer. */
export const answerPollMs = 1_000;
export const webhookTimeoutMs = 10_000;
export const webhookBytesMax = 65_536;
/** Characters of arguments that whoever is asked is shown. */
export const questionArgsMax = 2_000;
/** Approvals for good that are listed. */
export const standingApprovalsMax = 1_000;
/** Processes of a machine that are looked at, how often a tree is looked at while it ends, and rounds of killing it. */
export const processesMax = 65_536;
export const treePollMs = 50;
export const killRoundsMax = 40;
/** How long an agent may take to end once it is asked, tools that it left behind, and all of it when nobody watches. */
export const agentGraceMs = 5_000;
export const leftoverGraceMs = 1_000;
export const watchdogGraceMs = 800;
/** Characters of the reason why a step was skipped: all of them lie in one cell. */
export const skipReasonMax = 100;
/** How long the rest of an agent's output is waited for once it has ended. */
export const drainMs = 250;
/** Runs of agents that a store is asked for, and how long it keeps one after it was last written. */
export const agentRunsMax = 1_000;
export const agentRunKeepMs = 90 * 86_400_000;
/** Characters of one line of an agent's stream; a longer one is left out and counted. */
export const agentLineMax = 4_194_304;
/** Calls of an agent that are out at once, as a reader follows them. */
export const openCallsMax = 1_000;
/** Words that a paragraph of plain text needs to be compared with others. */
export const plainWordsMin = 8;
/** How long a framework's run may rest between its calls before its task is taken to have ended. */
export const hostRestMs = 60_000;
/** How often a question is put again whose answer was not understood. */
export const questionTriesMax = 5;
/** How often the status line of a run is drawn, characters of a line about what an agent does, and of its answer. */
export const statusDrawMs = 250;
export const progressLengthMax = 160;
export const answerLengthMax = 10_485_760;
/** Different calls of a run that are counted, to say which one was seen most often. */
export const countedCallsMax = 1_000;
/** How often what a run has used is written to the store, and output of a halted one is waited for. */
export const runSaveEveryMs = 5_000;
export const haltedDrainMs = 5_000;
/** How often signs of life of an agent that says much are told at most. */
export const signEveryMs = 200;
/** Bytes of a session file that one look reads, and files of one run that are followed. */
export const tailBytesMax = 8_388_608;
export const sessionFilesMax = 1_000;
/** Runs of frameworks that are told apart at once. */
export const hostRunsMax = 10_000;
/** How often the session files of an agent are looked at. */
export const sessionPollMs = 1_000;
/** They are looked at sooner when the stream tells news, but not again within this time. */
export const sessionNewsMs = 50;
/** How long a watcher of calls may not know what others wrote into the store. */
export const foreignChangesPollMs = 20;
/** Tasks that a gear shows on a shared store, and how many of them it writes in one sweep. */
export const publishedTasksMax = 10_000;
export const publishedWritesMax = 50;
/** How long a store keeps a task that runs, one that was lost, and the word of a process that it lives. */
export const publishedKeepMs = 30 * 86_400_000;
export const lostKeepMs = 3_600_000;
export const ownerKeepMs = 60_000;
/** Calls of a task that hooks keep open, answers they give again, and subagents and prompts of a session they know. */
export const hookCallsMax = 48;
export const hookAnswersMax = 16;
export const hookAgentsMax = 40;
export const hookPromptsMax = 32;
/** How long a hook may keep others of its session waiting, how often it asks whether it is its turn, and at most. */
export const hookLeaseMs = 5_000;
export const hookTurnMinMs = 4;
export const hookTurnMaxMs = 40;
/** What a host gives a hook unless said, what a hook leaves of it, and the longest it makes a call wait. */
export const hookTimeoutMs = 60_000;
export const hookMarginMs = 5_000;
export const hookWaitMaxMs = 10_000;
/** How long a store keeps what hooks know of a session after it was last heard of. */
export const hookKeepMs = 30 * 86_400_000;
/** Bytes of one payload, and characters of an answer that is kept: all of a task has to fit into one cell. */
export const hookPayloadBytesMax = 67_108_864;
export const hookReasonMax = 500;
/** Characters of a request or answer of a model provider that is read to know its model and cost. */
export const fetchBodyMax = 8_388_608;
/** How long a program may take to end after the agent that started it, before it counts as left behind. */
export const leftBehindMs = 200;
/** How soon a call comes back, at the soonest, that waits for an answer of the store. */
export const retryDelayMs = 10;
/** Tools that hooks below a run tell it of; calls for which a run leaves a loop to them, and how far apart. */
export const hookedToolsMax = 200;
export const loopsLeftCallsMax = 8;
export const loopsLeftGapMax = 3;
/** Characters of a call's arguments that a journal holds, where a policy wants them: without secrets, and in full. */
export const redactedContentMax = 200;
export const fullContentMax = 4_096;
/** Bytes of a transcript that one hook reads, and messages in it whose usage is known. */
export const hookTranscriptBytesMax = 1_048_576;
export const hookUsagesMax = 8;
/** Rates of models that hooks keep, and how long. */
export const hookPricesMax = 64;
export const hookPricesKeepMs = 86_400_000;
