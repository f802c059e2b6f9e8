/** The journal entries of chain runs: progress, checked rules, standing approvals. */

/** The finding of one rule before a chain step; the value only if the journal keeps content. */
export interface RuleRow {
  readonly rule: string;
  readonly fired: boolean;
  readonly limit: string;
  readonly value?: string;
}

export type RunEntryBody =
  | { readonly type: 'rules-checked'; readonly run: string; readonly step: string; readonly rows: readonly RuleRow[] }
  | {
      readonly type: 'run-started' | 'run-resumed' | 'run-cancelled' | 'run-resolved';
      readonly run: string;
      readonly chain: string;
      /** The person who decided, and how an unclear step was settled. */
      readonly by?: string;
      readonly how?: 'done' | 'redo';
    }
  | {
      readonly type: 'run-ended';
      readonly run: string;
      readonly chain: string;
      readonly status: string;
      readonly code?: string;
    }
  | {
      readonly type: 'step-started';
      readonly run: string;
      readonly step: string;
      readonly attempt: number;
      /** The person who approved the step, now or earlier, if a rule asked. */
      readonly approvedBy?: string;
    }
  | { readonly type: 'step-ended'; readonly run: string; readonly step: string; readonly status: string }
  | {
      readonly type: 'standing-given' | 'standing-dropped';
      readonly chain: string;
      readonly rules: readonly string[];
      readonly by: string;
    };
