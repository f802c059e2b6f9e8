/** The buttons of a card, each with its scope in words, and the dialogs behind them. */

import { useSignal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';
import { Dialog, TextDialog } from '../../components/dialog.tsx';
import { decide, snooze } from '../../live/decisions.ts';
import { describeAnswer, snoozeMeaning } from '../../logic/answer-meanings.ts';
import {
  type AnswerBody,
  type AnswerButton,
  checkArguments,
  isIncomplete,
  listAnswers,
  noteLengthMax,
  requestLengthMax,
} from '../../logic/card-answers.ts';
import { argumentsOf, headlineOf } from '../../logic/card-words.ts';
import { formatNumber, formatQuantity } from '../../logic/format.ts';
import type { PageCard } from '../../logic/inbox-model.ts';
import { pressed } from './current-card.ts';

interface CardActionsProps {
  readonly card: PageCard;
  readonly isBusy: boolean;
}

/** The limits that this person chose, by card: a card that is drawn anew keeps its own. */
const chosenLimits = new Map<string, number>();

/** What the dialog of a card is about. */
type OpenDialog = AnswerButton | 'snooze' | undefined;

export function CardActions({ card, isBusy }: CardActionsProps) {
  const raise = card.details?.raise ?? card.raise;
  const limit = useSignal<number | undefined>(chosenLimits.get(card.id) ?? raise?.suggested);
  const unit = card.details?.counters?.find(({ setting }) => setting === raise?.setting)?.unit;
  const dialog = useSignal<OpenDialog>(undefined);
  const answers = listAnswers(card, isValidLimit(limit.value, raise) ? limit.value : undefined);
  const canRaise = raise !== undefined && card.actions.includes('retry_raised');
  const isDisabled = ({ action, body }: AnswerButton) =>
    isBusy ||
    (isIncomplete(card) && body('{}').answer === 'approve') ||
    (action === 'retry_raised' && canRaise && !isValidLimit(limit.value, raise));
  const setLimit = (next: number | undefined) => {
    limit.value = next;
    if (next === undefined) chosenLimits.delete(card.id);
    else chosenLimits.set(card.id, next);
  };
  const press = (button: AnswerButton) => {
    if (isDisabled(button)) return;
    if (button.dialog !== undefined) dialog.value = button;
    else void decide(card, button.body(''));
  };
  // A key of the keyboard presses a button of the current card.
  useEffect(() => {
    const key = pressed.value;
    if (key?.card !== card.id || isBusy) return;
    pressed.value = undefined;
    if (key.key === 'n') dialog.value = 'snooze';
    const button = answers.find((each) => each.key === key.key);
    if (button !== undefined) press(button);
  }, [pressed.value]);
  return (
    <div class="card-actions">
      {canRaise && <LimitBox raise={raise} unit={unit} value={limit.value} onChange={setLimit} />}
      {answers.map((button) => (
        <button
          key={button.action}
          type="button"
          class={button.tone}
          disabled={isDisabled(button)}
          aria-keyshortcuts={button.key}
          title={describeAnswer(card, button.action)}
          onClick={() => press(button)}
        >
          {button.label}
        </button>
      ))}
      <button
        type="button"
        disabled={isBusy}
        aria-keyshortcuts="n"
        title={snoozeMeaning}
        onClick={() => (dialog.value = 'snooze')}
      >
        Not now…
      </button>
      <ButtonHelp card={card} answers={answers} />
      {dialog.value === 'snooze' && (
        <SnoozeDialog
          onClose={() => (dialog.value = undefined)}
          onChoose={(secs, words) => {
            dialog.value = undefined;
            void snooze(card, secs, words);
          }}
        />
      )}
      {typeof dialog.value === 'object' && (
        <AnswerTextDialog
          button={dialog.value}
          subject={headlineOf(card)}
          initial={dialog.value.dialog?.isCode === true ? (argumentsOf(card) ?? '') : ''}
          onClose={() => (dialog.value = undefined)}
          onSubmit={(body) => {
            dialog.value = undefined;
            void decide(card, body);
          }}
        />
      )}
    </div>
  );
}

/** What each button does; titles alone are for those who point with a mouse. */
function ButtonHelp({ card, answers }: { readonly card: PageCard; readonly answers: readonly AnswerButton[] }) {
  return (
    <details class="button-help">
      <summary>What do these buttons do?</summary>
      <dl>
        {answers.map(({ action, label }) => (
          <div key={action}>
            <dt>{label.replace('…', '')}</dt>
            <dd>{describeAnswer(card, action)}</dd>
          </div>
        ))}
        <div>
          <dt>Not now</dt>
          <dd>{snoozeMeaning}</dd>
        </div>
      </dl>
    </details>
  );
}

type Raise = NonNullable<PageCard['raise']>;

function isValidLimit(limit: number | undefined, raise: Raise | undefined): boolean {
  if (limit === undefined || raise === undefined) return false;
  return Number.isSafeInteger(limit) && limit >= raise.min && limit <= raise.max;
}

interface LimitBoxProps {
  readonly raise: Raise;
  readonly unit: string | undefined;
  readonly value: number | undefined;
  readonly onChange: (value: number | undefined) => void;
}

function LimitBox({ raise, unit, value, onChange }: LimitBoxProps) {
  const id = useId();
  const { setting, min, max } = raise;
  const isWrong = !isValidLimit(value, raise);
  const hasUnit = unit === 'cents' || unit === 'secs';
  return (
    <span class="limit-box">
      <label for={id}>New limit{unit === 'cents' ? ' (cents)' : unit === 'secs' ? ' (seconds)' : ''}</label>
      <input
        id={id}
        type="number"
        min={min}
        max={max}
        step={1}
        value={value}
        aria-invalid={isWrong}
        aria-describedby={`${id}-hint`}
        onInput={({ currentTarget }) => onChange(currentTarget.value === '' ? undefined : currentTarget.valueAsNumber)}
      />
      <span id={`${id}-hint`} class={isWrong ? 'hint error-text' : 'hint'}>
        <code>{setting}</code>, {formatNumber(min)} to {formatNumber(max)}
        {hasUnit && ` (${formatQuantity(min, unit)} to ${formatQuantity(max, unit)})`}; more needs the policy file
      </span>
    </span>
  );
}

interface AnswerTextDialogProps {
  readonly button: AnswerButton;
  readonly subject: string;
  readonly initial: string;
  readonly onSubmit: (body: AnswerBody) => void;
  readonly onClose: () => void;
}

/** The dialog of an answer that needs words; also for several cards at once. */
export function AnswerTextDialog({ button, subject, initial, onSubmit, onClose }: AnswerTextDialogProps) {
  const { title, label, hint, verb, isRequired, isCode } = button.dialog!;
  return (
    <TextDialog
      title={title}
      subject={subject}
      label={label}
      hint={hint}
      verb={verb}
      initial={initial}
      isRequired={isRequired}
      isCode={isCode}
      isDangerous={button.tone === 'danger'}
      maxLength={button.action === 'decline' ? noteLengthMax : requestLengthMax}
      {...(isCode && { check: checkArguments })}
      onSubmit={(text) => onSubmit(button.body(text))}
      onClose={onClose}
    />
  );
}

interface SnoozeDialogProps {
  readonly onChoose: (secs: number, words: string) => void;
  readonly onClose: () => void;
}

/** How long a card is hidden. */
export function SnoozeDialog({ onChoose, onClose }: SnoozeDialogProps) {
  return (
    <Dialog title="Not now" onClose={onClose}>
      <p class="hint">
        The card is hidden for a while. Nothing is decided: the agent keeps waiting. A question comes back before it
        expires.
      </p>
      <div class="dialog-buttons">
        <button type="button" onClick={() => onChoose(15 * 60, 'for 15 minutes')}>
          15 minutes
        </button>
        <button type="button" onClick={() => onChoose(3_600, 'for 1 hour')}>
          1 hour
        </button>
        <button type="button" onClick={() => onChoose(secsUntilTomorrow(), 'until tomorrow')}>
          Until tomorrow
        </button>
      </div>
    </Dialog>
  );
}

/** The seconds until 8 o'clock of the next day, here. */
function secsUntilTomorrow(): number {
  const morning = new Date();
  morning.setDate(morning.getDate() + 1);
  morning.setHours(8, 0, 0, 0);
  return Math.round((morning.getTime() - Date.now()) / 1_000);
}
