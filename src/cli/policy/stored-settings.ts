/** The settings of a session or run in the store, with which later settings are compared. */

import { defaultSettings } from '../../core/controls/defaults.ts';
import { hookKeepMs, partLengthMax, textPartsMax } from '../../core/limits.ts';
import type { Settings } from '../../core/settings.ts';
import { sha256Hex } from '../../platform/sha256.ts';
import type { Cell, Change, Store } from '../../ports/store.ts';

/** One part of the stored settings of a policy. */
interface StoredPart {
  readonly parts: number;
  readonly text: string;
}

function partKey(id: string, part: number): string {
  return `policy/${id}/${String(part).padStart(3, '0')}`;
}

/** An id for settings: equal for equal ones, empty for the defaults. */
export function identifySettings(settings: Settings): string {
  const text = formatDifference(settings);
  return text === '{}' ? '' : sha256Hex(text);
}

/** The settings that differ from the defaults, as JSON. */
function formatDifference(settings: Settings): string {
  const isDefault = (value: unknown, name: string) =>
    JSON.stringify(value) === JSON.stringify(defaultSettings[name as keyof Settings]);
  return JSON.stringify(
    Object.fromEntries(Object.entries(settings).filter(([name, value]) => !isDefault(value, name))),
  );
}

/** Stores the settings that differ from the defaults, in as many cells as they need. */
export async function storeSettings(store: Store, id: string, settings: Settings): Promise<void> {
  const text = formatDifference(settings);
  const parts = Math.ceil(text.length / partLengthMax);
  const changes = Array.from({ length: Math.min(parts, textPartsMax) }, (_, part): Change => {
    const state: StoredPart = { parts, text: text.slice(part * partLengthMax, (part + 1) * partLengthMax) };
    const cell: Cell<StoredPart | null> = store.cell<StoredPart | null>(partKey(id, part), () => null, {
      keepMs: hookKeepMs,
    });
    return { cell, update: () => ({ state }) };
  });
  await store.shared?.commit({ changes });
}

/** Reads stored settings; those that are lost are the defaults. */
export async function readStoredSettings({ shared }: Store, id: string): Promise<Settings> {
  if (id === '') return defaultSettings;
  const rows = (await shared?.read(`policy/${id}/`, textPartsMax)) ?? [];
  const parts = rows
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .flatMap(({ state }) => (state as StoredPart | null) ?? []);
  if (parts.length === 0 || parts.length !== parts[0]!.parts) return defaultSettings;
  return { ...defaultSettings, ...(JSON.parse(parts.map(({ text }) => text).join('')) as Partial<Settings>) };
}
