/** An approver that asks nobody and approves nothing. */

import type { Approver } from '../ports/approver.ts';

/** Creates an approver that approves nothing. */
export const noApprover: Approver = {
  name: 'nobody',
  isAvailable: () => false,
  ask: () => Promise.reject(new Error('no approver is configured')),
};
