/** Who sits at this machine, for whoever wants to know later who said so. */

import { userInfo } from 'node:os';

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'somebody'; // A user without a name, as in some containers.
  }
}
