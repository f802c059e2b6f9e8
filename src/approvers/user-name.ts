/** The name of the user of this machine, for the journal. */

import { userInfo } from 'node:os';

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'somebody'; // A user without a name, as in some containers.
  }
}
