/** A word with an icon and a colour: the colour never says anything alone. */

import { Icon, type IconName } from './icon.tsx';

/** The tone of a badge or a meter. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plain';

export function Badge({ tone, icon, text }: { readonly tone: Tone; readonly icon: IconName; readonly text: string }) {
  return (
    <span class={`badge tone-${tone}`}>
      <Icon name={icon} />
      {text.charAt(0).toUpperCase() + text.slice(1)}
    </span>
  );
}
