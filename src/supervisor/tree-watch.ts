/** Looks at a process tree while it lives, so that processes which leave it later are known. */

import { treeChildrenMs, treeScanByPsMs, treeScanMs } from '../core/limits.ts';
import type { Clock } from '../ports/clock.ts';
import { hasProcessFiles } from './process-table.ts';
import type { ProcessTree, TreeMember } from './process-tree.ts';

/**
 * Starts to look at a tree; returns a function that stops it. `onUnmarked` gets the processes that cannot be found by
 * the mark, whenever they change.
 */
export function watchTree(
  tree: ProcessTree,
  clock: Clock,
  onUnmarked: (members: readonly TreeMember[]) => void,
): () => void {
  const hasFiles = hasProcessFiles();
  const scanMs = hasFiles ? treeScanMs : treeScanByPsMs; // `ps` is a process of its own.
  let scannedMs = clock.nowMs();
  let reported = '';

  function look(): void {
    if (clock.nowMs() - scannedMs < scanMs) tree.scanChildren();
    else {
      tree.scan();
      scannedMs = clock.nowMs();
      const unmarked = hasFiles ? tree.findUnmarked() : [];
      if (String(unmarked) !== reported) onUnmarked(unmarked);
      reported = String(unmarked);
    }
    cancel = clock.after(treeChildrenMs, look);
  }

  let cancel = clock.after(treeChildrenMs, look);
  return () => cancel();
}
