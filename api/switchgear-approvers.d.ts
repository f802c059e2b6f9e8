export interface Answer {
    readonly approved: boolean;
    readonly by: string;
    readonly note?: string;
    readonly for?: 'once' | 'run' | 'always';
    readonly args?: readonly unknown[];
    readonly isEdited?: boolean;
}

export interface Approver {
    readonly name: string;
    isAvailable?(): boolean;
    ask(card: QuestionCard, signal: AbortSignal): Promise<Answer>;
}

export interface QuestionCard extends Card {
    readonly input?: string;
}

export interface TerminalOptions {
    readonly input?: NodeJS.ReadableStream & {
        readonly isTTY?: boolean;
    };
    readonly output?: NodeJS.WritableStream;
}

export interface WebhookOptions {
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
}

export declare function cardApprover({ store }: {
    readonly store: Store;
}): Approver;

export declare function firstAnswer(...approvers: readonly Approver[]): Approver;

export declare const noApprover: Approver;

export declare function terminalApprover({ input, output }?: TerminalOptions): Approver;

export declare function webhookApprover({ url, headers }: WebhookOptions): Approver;
