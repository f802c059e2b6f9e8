/** The question that a run puts to a person: what it is about, and how it was answered. */

import type { CardChange } from '../storage/values.ts';

/** What is asked about; the step is empty for the run as a whole. */
export interface QuestionSubject {
  readonly step: string;
  readonly attempt: number;
  readonly args: unknown;
}

/** The rules of a run ask through it; the step that they stopped reads the answer from it. */
export class RunQuestion {
  private current: QuestionSubject = { step: '', attempt: 0, args: {} };
  private approver: string | undefined = undefined;
  private answeredCard: string | undefined = undefined;
  private parked = false;

  get subject(): QuestionSubject {
    return this.current;
  }

  /** The person who approved the subject, now or before. */
  get approvedBy(): string | undefined {
    return this.approver;
  }

  /** Whether a question is open and nobody waits for its answer in this process. */
  get isParked(): boolean {
    return this.parked;
  }

  /** Turns to the next subject, which nobody has approved yet. A card that was answered stays until it is used. */
  begin(subject: QuestionSubject): void {
    this.current = subject;
    this.approver = undefined;
  }

  /** Records who approved the subject, and the card with the answer where one was asked. */
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

  /** Forgets the answered card once its use is written. */
  forgetCard(): void {
    this.answeredCard = undefined;
  }
}
