export interface Breaker<R = never> {
    readonly name: string;
    readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN';
    readonly stats: StandaloneBreakerStats;
    execute<A extends unknown[], V>(fn: (...args: A) => V, ...args: A): V | R;
    executeWithSignal<V>(fn: (signal: AbortSignal) => V): V | R;
    admit(): BreakerPermit | BreakerRefusal;
    settle(permit: BreakerPermit, outcome?: Outcome): void;
    trip(untilMs?: number): void;
    reset(): void;
    hold(): void;
    release(): void;
    probeNow(): void;
    onChange(listener: (change: BreakerChange) => void): () => void;
    [Symbol.dispose](): void;
}

export interface BreakerChange {
    readonly type: 'opened' | 'half-opened' | 'closed';
    readonly name: string;
    readonly generation: number;
    readonly cause: string;
}

export interface BreakerOptions extends Partial<Omit<BreakerSettings, 'scope' | 'gracefulDegradation' | 'enableHealthCheck' | 'healthCheckIntervalSecs' | GearSetting>> {
    readonly name?: string;
    readonly clock?: Clock;
    readonly onRefusal?: 'reject' | 'throw' | 'return';
}

export interface BreakerPermit extends AdmittedCall {
    readonly refused: false;
    settled: boolean;
}

export interface BreakerRefusal {
    readonly refused: true;
    readonly code: 'circuit_open' | 'concurrency_limit';
    readonly name: string;
    readonly retryAtMs?: number;
    readonly message: string;
}

export interface BreakerStats {
    readonly consecutiveFailures: number;
    readonly halfOpenSuccesses: number;
    readonly totalFailures: number;
    readonly totalSuccesses: number;
    readonly totalNeutrals: number;
    readonly totalRequests: number;
    readonly rejectedRequests: number;
    readonly lateResults: number;
    readonly inFlight: number;
}

export declare class CircuitOpenError extends Error {
    readonly refusal: BreakerRefusal;
    readonly code: BreakerRefusal['code'];
    constructor(refusal: BreakerRefusal);
}

export type Outcome = {
    readonly kind: 'success';
} | {
    readonly kind: 'failure';
    readonly error: string;
    readonly errorFingerprint: number;
    readonly retryAtMs?: number;
} | {
    readonly kind: 'neutral';
    readonly why: 'ignored' | 'unauthorized' | 'denied' | 'cancelled' | 'given-back' | 'lease-expired';
};

export interface SavedBreaker extends SavedWindows {
    readonly format: 1;
    readonly phase: 'closed' | 'open' | 'half-open';
    readonly generation: number;
    readonly run: number;
    readonly runError: number;
    readonly opens: number;
    readonly trips: number;
    readonly cause: string;
    readonly held: boolean;
    readonly openForMs: number;
    readonly openSinceMs: number;
    readonly openMs: number;
    readonly probeSuccesses: number;
}

export interface StandaloneBreakerStats extends BreakerStats {
    readonly countedFailures: number;
    readonly trips: number;
    readonly generation: number;
}

export declare function createBreaker(options: BreakerOptions & {
    readonly onRefusal: 'return';
}): Breaker<BreakerRefusal>;
export declare function createBreaker(options?: BreakerOptions): Breaker;

export declare function restoreBreaker(saved: SavedBreaker, options: BreakerOptions & {
    readonly onRefusal: 'return';
}): Breaker<BreakerRefusal>;
export declare function restoreBreaker(saved: SavedBreaker, options?: BreakerOptions): Breaker;

export declare function saveBreaker(breaker: Breaker<unknown>): SavedBreaker;
