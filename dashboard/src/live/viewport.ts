/** The visible part of a scrolling list, the width of an element, and whether the page is narrow. */

import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** The place and height of a scrolling list, in steps of four rows: the rows around those in sight are drawn, too. */
export function useScroll(
  element: RefObject<HTMLElement | null>,
  rowHeight: number,
): {
  readonly scrollTop: number;
  readonly height: number;
} {
  const place = useSignal({ scrollTop: 0, height: 600 });
  useEffect(() => {
    const frame = element.current;
    if (frame === null) return undefined;
    const read = () => {
      const { clientHeight: height } = frame;
      const step = rowHeight * 4;
      const scrollTop = Math.floor(frame.scrollTop / step) * step;
      const before = place.peek();
      if (before.scrollTop !== scrollTop || before.height !== height) place.value = { scrollTop, height };
    };
    read();
    frame.addEventListener('scroll', read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(frame);
    return () => {
      frame.removeEventListener('scroll', read);
      observer.disconnect();
    };
  }, [rowHeight]);
  return place.value;
}

/** The width of an element in pixels. */
export function useWidth(element: RefObject<HTMLElement | null>, initial: number): number {
  const width = useSignal(initial);
  useEffect(() => {
    const observed = element.current;
    if (observed === null) return undefined;
    const observer = new ResizeObserver(() => {
      width.value = observed.clientWidth;
    });
    observer.observe(observed);
    return () => observer.disconnect();
  }, []);
  return width.value;
}

/** Whether the page is as narrow as a phone; the style sheets change at the same width. */
export function useNarrow(): boolean {
  const isNarrow = useSignal(narrow.matches);
  useEffect(() => {
    const read = () => {
      isNarrow.value = narrow.matches;
    };
    narrow.addEventListener('change', read);
    return () => narrow.removeEventListener('change', read);
  }, []);
  return isNarrow.value;
}

const narrow = matchMedia('(max-width: 60rem)');
