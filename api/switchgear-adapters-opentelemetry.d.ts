export interface OpenTelemetryApi {
    readonly trace: {
        getTracer(name: string): TracerLike;
        setSpan(context: never, span: never): unknown;
    };
    readonly context: {
        active(): unknown;
    };
}

export interface OpenTelemetryMeter {
    createHistogram(name: string, options: {
        description: string;
        unit: string;
        advice: {
            explicitBucketBoundaries: number[];
        };
    }): HistogramLike;
}

export declare function measure(gear: Switchgear, meter: OpenTelemetryMeter): () => void;

export declare function trace(gear: Switchgear, { trace: traces, context }: OpenTelemetryApi): () => void;
