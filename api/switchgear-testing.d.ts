export interface AnsweredApprover {
    readonly approver: Approver;
    answer(card: Card, answer: CardAction): void | Promise<void>;
    close?(): void | Promise<void>;
}

export type HostAbility = 'closes' | 'asks' | 'meters' | 'delegates' | 'nests' | 'cancels' | 'errors' | 'models' | 'streams' | 'timeouts' | 'throws' | 'raises';

export interface HostHarness {
    readonly name: string;
    run(scene: HostScene): Promise<HostTranscript>;
    readonly lacks?: readonly HostAbility[] | {
        readonly [ability in HostAbility]?: string;
    };
}

export interface HostScene {
    readonly turns: readonly HostTurn[];
    readonly tools: Readonly<Record<string, HostTool>>;
    readonly gear: Switchgear | undefined;
    readonly stepsMax: number;
    readonly workers?: readonly string[];
    readonly answers?: 'approve' | 'decline';
    readonly signal?: AbortSignal;
}

export type HostTool = (input: Readonly<Record<string, unknown>>, signal?: AbortSignal) => unknown;

export interface HostTranscript {
    readonly modelCalls: number;
    readonly toolResults: readonly string[];
    readonly answer: string;
    readonly halt: Code | undefined;
    readonly approvalsAsked: number;
    readonly messages: unknown;
}

export interface HostTurn {
    readonly text?: string;
    readonly calls?: readonly {
        readonly tool: string;
        readonly input?: Readonly<Record<string, unknown>>;
    }[];
    readonly tokens?: number;
    readonly wait?: (signal?: AbortSignal) => Promise<void>;
    readonly chunks?: () => AsyncIterable<string>;
}

export type MakeApprover = () => AnsweredApprover | Promise<AnsweredApprover>;

export type MakeStore = (clock: Clock, place: string) => Store | Promise<Store>;

export interface Replay {
    readonly decisions: number;
    readonly differences: readonly ReplayDifference[];
    readonly lastSeq: number;
}

export interface ReplayDifference {
    readonly seq: number;
    readonly expected: string;
    readonly got: string;
}

export interface ReplayOptions {
    readonly controls?: readonly Control[];
    readonly rules?: readonly Rule[];
    readonly breakerSettings?: (name: string, agent: string, tuned: Partial<BreakerSettings>) => BreakerSettings;
    readonly mode?: 'enforce' | 'observe';
}

export interface ScriptStage {
    readonly tools?: Readonly<Record<string, AnyFunction>>;
    readonly task?: Task;
    readonly clock?: SimulatedClock;
    readonly stubborn?: boolean;
}

export type ScriptStep = {
    readonly tool: string;
    readonly args?: readonly unknown[];
    readonly times?: number;
} | {
    readonly says: string;
    readonly times?: number;
} | {
    readonly hears: string;
} | {
    readonly usage: Usage;
} | {
    readonly waitsMs: number;
};

export interface SimulatedClock extends Clock {
    advance(byMs: number): void;
    elapse(byMs: number): Promise<void>;
    wallJump(byMs: number): void;
    readonly pending: number;
}

export interface Transcript {
    readonly lines: readonly TranscriptLine[];
    readonly refusals: readonly Refusal[];
    readonly halt: Refusal | undefined;
}

export type TranscriptLine = {
    readonly step: ScriptStep;
} & ({
    readonly kind: 'result';
    readonly value: unknown;
} | {
    readonly kind: 'error';
    readonly error: unknown;
} | {
    readonly kind: 'refusal';
    readonly refusal: Refusal;
} | {
    readonly kind: 'told';
});

export declare function adapterSuite(harness: HostHarness): void;

export declare function approverSuite(name: string, makeApprover: MakeApprover): void;

export declare function promisesSettled(): Promise<void>;

export declare function replay(entries: readonly Entry[], settings: Settings, options?: ReplayOptions): Replay;

export declare function scriptedAgent(script: readonly ScriptStep[]): (stage: ScriptStage) => Promise<Transcript>;

export declare function simulatedClock(startMs?: number): SimulatedClock;

export declare const simulatedWallMs = 1767225600000;

export declare function storeSuite(name: string, makeStore: MakeStore, kind?: 'alone' | 'shared'): void;
