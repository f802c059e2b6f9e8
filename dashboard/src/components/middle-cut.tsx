/** A name that is cut in its middle where there is no room: the ends of ids tell them apart. */

import { splitName } from '../logic/format.ts';

export function MiddleCut({ text }: { readonly text: string }) {
  const [head, tail] = splitName(text);
  return (
    <span class="middle-cut">
      <span class="cut-head">{head}</span>
      <span class="cut-tail">{tail}</span>
    </span>
  );
}
