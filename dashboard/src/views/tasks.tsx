/** The view Tasks. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function Tasks() {
  return <EmptyState icon="dot" title="Nothing here yet." />;
}

export const tasksView: View = { id: 'tasks', title: 'Tasks', Component: Tasks };
