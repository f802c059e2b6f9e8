/** States of a view without data: nothing there yet, with what to try; an error; loading. */

import type { ComponentChildren } from 'preact';
import { unreachable } from '../api.ts';
import { connection } from '../state.ts';
import { Icon, type IconName } from './icon.tsx';

interface EmptyStateProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}

export function EmptyState({ icon, title, children }: EmptyStateProps) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="empty-text">{children}</div>}
    </div>
  );
}

/** A command to type, in a line of its own. */
export function CommandLine({ text }: { readonly text: string }) {
  return (
    <pre class="command">
      <code>{text}</code>
    </pre>
  );
}

/** What failed, and a button that tries again. */
export function ErrorNote({ text, onRetry }: { readonly text: string; readonly onRetry?: () => void }) {
  // The frame of the page says so, for all views at once.
  if (text === unreachable && connection.value.state === 'reconnecting') return null;
  return (
    <div class="error-note" role="alert">
      <Icon name="alert" />
      <span>{text}</span>
      {onRetry !== undefined && (
        <button type="button" class="quiet" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Shown until the first answer. */
export function LoadingNote() {
  return <p class="loading">Loading…</p>;
}
