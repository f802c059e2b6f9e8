/** Keeps the memory of a relay small, which handles many bytes and long messages one after the other. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of parts after which young objects are freed, and how often that is done before all objects are. */
const partsBytesMax = 4_194_304;
const youngCollections = 16;

type Collect = (options?: { readonly type: 'minor' }) => void;

let collect: Collect | undefined;
let partsBytes = 0;
/** Collections of young objects since the last one of all. */
let collections = 0;

/**
 * Stops the growth of the space for new objects, which would become larger than all objects that are kept: a relay
 * makes many short-lived objects and keeps few.
 */
export function limitNewSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Frees what was left of long messages, which would otherwise stay until many more have come. */
export function collectGarbage(): void {
  findCollect()();
}

/**
 * Frees parts of streams and bodies that were passed on, copied or not kept, after some megabytes of them; now and then
 * also those that had become old while they waited.
 */
export function collectParts(bytes: number): void {
  partsBytes += bytes;
  if (partsBytes < partsBytesMax) return;
  partsBytes = 0;
  if (++collections % youngCollections === 0) collectGarbage();
  else findCollect()({ type: 'minor' });
}

function findCollect(): Collect {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as Collect;
  }
  return collect;
}
