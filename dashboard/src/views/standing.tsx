/** The view Standing approvals. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function Standing() {
  return <EmptyState icon="check" title="Nothing here yet." />;
}

export const standingView: View = { id: 'standing', title: 'Standing approvals', Component: Standing };
