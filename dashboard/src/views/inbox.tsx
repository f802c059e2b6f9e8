/** The view Inbox. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function Inbox() {
  return <EmptyState icon="check" title="Nothing here yet." />;
}

export const inboxView: View = { id: 'inbox', title: 'Inbox', Component: Inbox };
