export type Choose = (state: SupervisedState) => string | undefined | Promise<string | undefined>;

export interface DelegationNotes {
    readonly seen?: string;
    readonly failedAtMs?: Readonly<Record<string, number>>;
    readonly reasons?: Readonly<Record<string, string>>;
}

export interface LangGraphOptions extends ProtectOptions, FallbackOptions {
}

export interface NextStep {
    readonly worker: string | undefined;
    readonly message?: string;
    readonly update: SupervisedUpdate;
}

export interface SupervisedState {
    readonly messages?: readonly MessageLike[];
    readonly delegation_failures?: FailureCounts;
    readonly delegation_notes?: DelegationNotes;
}

export interface SupervisedUpdate {
    readonly delegation_failures?: FailureCounts;
    readonly delegation_notes?: DelegationNotes;
}

export interface Supervisor {
    readonly failures: Channel<FailureCounts>;
    readonly notes: Channel<DelegationNotes>;
    readonly prompt: string;
    recordDelegationFailure(state: SupervisedState, worker: string, reason: string): SupervisedUpdate;
    checkCircuitBreaker(state: SupervisedState, worker: string): [mayDelegate: boolean, reason: string];
    next(state: SupervisedState, choose: Choose): Promise<NextStep>;
}

export interface SupervisorOptions {
    readonly gear?: Switchgear;
    readonly workers: readonly string[];
    readonly ask?: (question: string) => unknown;
    readonly log?: (line: string) => void;
}

export declare function protect<T extends object>(thing: T, options?: LangGraphOptions): T;

export declare function supervisor({ gear, workers, ask, log }: SupervisorOptions): Supervisor;
