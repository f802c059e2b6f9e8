/** The question of a run to a person: its subject, and its answer. */

import type { CardChange } from '../storage/values.ts';

/** The subject of a question; the step is empty for the run as a whole. */
export interface QuestionSubject {
  readonly step: string;
  readonly attempt: number;
  readonly args: unknown;
  /** What the ability of the step resolves to now. */
  readonly identify: () => unknown;
}

/** An approval of the subject. */
export interface SubjectApproval {
  readonly by: string;
  /** The answered card, if a question was asked. */
  readonly card?: string;
  /** The resolved ability that was approved, as JSON. */
  readonly identity: string | undefined;
  /** Whether the subject is still what was approved. */
  isCurrent(): Promise<boolean>;
}

/** Connects the rules of a run, which ask, with the step that they stopped, which reads the answer. */
export class RunQuestion {
  private current: QuestionSubject = { step: '', attempt: 0, args: {}, identify: () => undefined };
  private approved: SubjectApproval | undefined = undefined;
  private answeredCard: string | undefined = undefined;
  private parked = false;

  get subject(): QuestionSubject {
    return this.current;
  }

  /** The approval of the subject, given now or earlier. */
  get approval(): SubjectApproval | undefined {
    return this.approved;
  }

  /** Whether a question is open and this process does not wait for its answer. */
  get isParked(): boolean {
    return this.parked;
  }

  /** Sets the next subject, which is not approved yet. An answered card stays until it is used. */
  begin(subject: QuestionSubject): void {
    this.current = subject;
    this.approved = undefined;
  }

  /** Records the approval of the subject. */
  approve(approval: SubjectApproval): void {
    this.approved = approval;
    this.answeredCard = approval.card ?? this.answeredCard;
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
