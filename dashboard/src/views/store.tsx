/** The view Store. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function Store() {
  return <EmptyState icon="hold" title="Nothing here yet." />;
}

export const storeView: View = { id: 'store', title: 'Store', Component: Store };
