/** The view History. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function History() {
  return <EmptyState icon="clock" title="Nothing here yet." />;
}

export const historyView: View = { id: 'history', title: 'History', Component: History };
