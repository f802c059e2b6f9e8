export interface OpenTelemetryApi {
    readonly trace: {
        getTracer(name: string): TracerLike;
        setSpan(context: never, span: never): unknown;
    };
    readonly context: {
        active(): unknown;
    };
}

export declare function trace(gear: Switchgear, { trace: traces, context }: OpenTelemetryApi): () => void;
