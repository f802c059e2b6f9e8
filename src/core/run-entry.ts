/** What the journal can say of runs of chains: how far they came, what rules saw, who approved for good. */

/** What one rule saw before a step of a chain; the value only where content is held. */
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
      /** Who said so, and how a step in doubt was settled. */
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
      /** Who approved it, now or before, where a rule asked. */
      readonly approvedBy?: string;
    }
  | { readonly type: 'step-ended'; readonly run: string; readonly step: string; readonly status: string }
  | {
      readonly type: 'standing-given' | 'standing-dropped';
      readonly chain: string;
      readonly rules: readonly string[];
      readonly by: string;
    };
