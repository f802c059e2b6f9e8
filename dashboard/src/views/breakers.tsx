/** The view Breakers. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function Breakers() {
  return <EmptyState icon="half" title="Nothing here yet." />;
}

export const breakersView: View = { id: 'breakers', title: 'Breakers', Component: Breakers };
