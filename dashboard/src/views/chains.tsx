/** The view Chains. */

import { EmptyState } from '../components/empty-state.tsx';
import type { View } from './view.ts';

function Chains() {
  return <EmptyState icon="note" title="Nothing here yet." />;
}

export const chainsView: View = { id: 'chains', title: 'Chains', Component: Chains };
