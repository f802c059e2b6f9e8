/** Icons of 16 pixels that take the colour of the text around them. They never stand without a word or a label. */

const paths = {
  alert: 'M8 1.8 15 14H1L8 1.8Zm0 4.4v3.6m0 2v.4',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11L4 11Zm2.5 3h3',
  'bell-off': 'M4 11V7a4 4 0 0 1 8 0v4l1.5 1.5h-11L4 11Zm2.5 3h3M2 2l12 12',
  check: 'm2.5 8.5 3.5 3.5 7.5-8',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  clock: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8Zm0 3v3.4l2.3 1.4',
  cross: 'm3.5 3.5 9 9m0-9-9 9',
  dot: 'M8 4.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7Z',
  half: 'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8Zm0 0v12.4m2-11.8v11.2m2-9.4v7.6',
  hold: 'M4 7.5h8v6H4v-6Zm1.5 0V5a2.5 2.5 0 0 1 5 0v2.5',
  keyboard: 'M1.5 4h13v8.5h-13V4Zm3 2.5h.1m2.3 0h.1m2.3 0h.1m2.3 0h.1M5 10h6',
  moon: 'M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1Z',
  note: 'M3 2h7l3 3v9H3V2Zm2.5 5h5m-5 3h5',
  pause: 'M5.5 3v10m5-10v10',
  question:
    'M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8ZM6.2 6.3C6.3 5.2 7 4.6 8 4.6s1.9.7 1.9 1.6C9.9 7.6 8 7.6 8 9.2m0 2v.3',
  screen: 'M1.5 3h13v8.5h-13V3ZM5.5 14h5M8 11.5V14',
  sound: 'M2 6v4h2.5L8 13V3L4.5 6H2Zm8.5-.5a3.5 3.5 0 0 1 0 5m2-7a6.4 6.4 0 0 1 0 9',
  silent: 'M2 6v4h2.5L8 13V3L4.5 6H2Zm8.5 0 4 4m0-4-4 4',
  stop: 'M5.3 1.8h5.4l3.5 3.5v5.4l-3.5 3.5H5.3l-3.5-3.5V5.3l3.5-3.5Z',
  sun: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6Zm0-3.5v1m0 11v1m6.5-6.5h-1m-11 0h-1m11.1-4.6-.7.7M4.1 11.9l-.7.7m9.2 0-.7-.7M4.1 4.1l-.7-.7',
} as const;

/** The name of an icon. */
export type IconName = keyof typeof paths;

/** An icon; hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}
