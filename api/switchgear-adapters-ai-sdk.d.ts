export interface AiSdkCall {
    readonly model?: unknown;
    readonly tools?: unknown;
    readonly toolApproval?: unknown;
}

export interface AiSdkOptions extends HidingOptions {
    readonly workers?: readonly string[];
}

export interface AiSdkOutcome {
    readonly halt: Refusal | undefined;
}

export declare function protect<T extends AiSdkCall>(call: T, options?: AiSdkOptions): T & AiSdkOutcome;
