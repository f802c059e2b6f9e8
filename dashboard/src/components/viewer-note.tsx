/** Says to a viewer why there are no buttons. */

import { isOperator } from '../state.ts';

export function ViewerNote({ verb }: { readonly verb: string }) {
  if (isOperator.value) return null;
  return <p class="viewer-note">You can look, but not {verb}: your token has the role of a viewer.</p>;
}
