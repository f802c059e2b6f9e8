/** A modal dialog: the browser keeps the focus inside, and gives it back when the dialog is closed. */

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} class="dialog" aria-labelledby={titleId} onClose={onClose}>
      <header class="dialog-head">
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="quiet icon-only" aria-label="Close" onClick={onClose}>
          <Icon name="cross" />
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface TextDialogProps {
  readonly title: string;
  /** What it is about, below the title. */
  readonly subject?: string;
  /** The label of the text box. */
  readonly label: string;
  readonly hint?: string;
  /** The verb on the button. */
  readonly verb: string;
  readonly initial?: string;
  readonly isRequired?: boolean;
  readonly isCode?: boolean;
  readonly isDangerous?: boolean;
  readonly maxLength?: number;
  /** Returns a reason why the text cannot be sent, or undefined. */
  readonly check?: (text: string) => string | undefined;
  readonly onSubmit: (text: string) => void;
  readonly onClose: () => void;
}

/** A dialog with one text box and a button that repeats the verb. */
export function TextDialog(props: TextDialogProps) {
  const { title, label, hint, verb, initial = '', isRequired = false, isCode = false, onSubmit, onClose } = props;
  const box = useRef<HTMLTextAreaElement>(null);
  const errorLine = useRef<HTMLParagraphElement>(null);
  const id = useId();
  const submit = () => {
    const text = box.current?.value.trim() ?? '';
    const problem = text === '' && isRequired ? `${label} must not be empty.` : props.check?.(text);
    if (problem === undefined) onSubmit(text);
    else {
      if (errorLine.current !== null) errorLine.current.textContent = problem;
      box.current?.focus();
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        {props.subject !== undefined && <p class="dialog-subject">{props.subject}</p>}
        <label for={id}>{label}</label>
        <textarea
          id={id}
          ref={box}
          class={isCode ? 'code' : undefined}
          rows={isCode ? 10 : 4}
          maxLength={props.maxLength}
          defaultValue={initial}
          spellcheck={!isCode}
          required={isRequired}
          aria-describedby={`${id}-hint ${id}-error`}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
          }}
        />
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
        <p id={`${id}-error`} class="error-text" role="alert" ref={errorLine} />
        <div class="dialog-buttons">
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={props.isDangerous === true ? 'danger' : 'primary'}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
