/** The question of a run to a person: its subject, and its answer. */

import type { CardChange } from '../storage/values.ts';

/** The subject of a question; the step is empty for the run as a whole. */
export interface QuestionSubject {
  readonly step: string;
  readonly attempt: number;
  readonly args: unknown;
}

/** Connects the rules of a run, which ask, with the step that they stopped, which reads the answer. */
export class RunQuestion {
  private current: QuestionSubject = { step: '', attempt: 0, args: {} };
  private approver: string | undefined = undefined;
  private answeredCard: string | undefined = undefined;
  private parked = false;

  get subject(): QuestionSubject {
    return this.current;
  }

  /** The person who approved the subject, now or earlier. */
  get approvedBy(): string | undefined {
    return this.approver;
  }

  /** Whether a question is open and this process does not wait for its answer. */
  get isParked(): boolean {
    return this.parked;
  }

  /** Sets the next subject, which is not approved yet. An answered card stays until it is used. */
  begin(subject: QuestionSubject): void {
    this.current = subject;
    this.approver = undefined;
  }

  /** Records who approved the subject, and the answered card if a question was asked. */
  approve(by: string, card?: string): void {
    this.approver = by;
    this.answeredCard = card ?? this.answeredCard;
  }

  /** Leaves the question open in the store. */
  park(): void {
    this.parked = true;
  }

  /** The change that uses up the answered card; it is written with the transition that the answer approved. */
  useCard(): { readonly card?: CardChange } {
    const id = this.answeredCard;
    if (id === undefined) return {};
    return { card: { id, update: (stored) => (stored?.state === 'answered' ? { ...stored, state: 'used' } : stored) } };
  }

  /** Removes the answered card after its use is written. */
  forgetCard(): void {
    this.answeredCard = undefined;
  }
}
