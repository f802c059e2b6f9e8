/** A value of the API that is read again when entries of the journal say that it changed. */

import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Entry } from '../../../src/core/event.ts';
import { apiGet, errorText } from '../api.ts';
import { learnStoreTime } from '../state.ts';
import { onEntries, onResync } from './stream.ts';

/** A value of the API as of now. The value stays while an error is shown. */
export interface Loaded<T> {
  readonly value?: T;
  readonly error?: string;
  readonly isLoading: boolean;
}

/** A value with the function that reads it again at once. */
export interface Resource<T> {
  readonly loaded: ReadonlySignal<Loaded<T>>;
  readonly reload: () => Promise<void>;
}

/** At most one reading per so many milliseconds, however many entries come. */
const restMs = 300;

/**
 * Reads a path of the API for a component. `concerns` says which entries change it; with `everyMs` it is read also
 * without any. An answer with `atMs` sets the time of the store.
 */
export function useResource<T>(
  path: string,
  concerns: (entry: Entry) => boolean = () => true,
  everyMs?: number,
): Resource<T> {
  const resource = useMemo(() => createResource<T>(path), [path]);
  useEffect(() => {
    void resource.reload();
    const stops = [
      onEntries((entries) => {
        if (entries.some(concerns)) resource.reloadSoon();
      }),
      onResync(() => void resource.reload()),
    ];
    const timer = everyMs === undefined ? undefined : setInterval(resource.reloadSoon, everyMs);
    return () => {
      for (const stop of stops) stop();
      clearInterval(timer);
      resource.stop();
    };
  }, [resource, everyMs]);
  return resource;
}

function createResource<T>(path: string) {
  const loaded = signal<Loaded<T>>({ isLoading: true });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let readings = 0;
  let lastMs = 0;

  async function reload(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    lastMs = Date.now();
    const reading = ++readings;
    try {
      const value = await apiGet<T>(path);
      const { atMs } = (value ?? {}) as { atMs?: number };
      if (typeof atMs === 'number') learnStoreTime(atMs);
      if (reading === readings) loaded.value = { value, isLoading: false };
    } catch (error) {
      if (reading === readings) loaded.value = { ...loaded.value, error: errorText(error), isLoading: false };
    }
  }

  return {
    loaded,
    reload,
    reloadSoon: () => {
      timer ??= setTimeout(reload, Math.max(0, lastMs + restMs - Date.now()));
    },
    stop: () => clearTimeout(timer),
  };
}
