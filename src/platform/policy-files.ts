/** Finds policy files by their names, without reading them: in a folder, then upward to the root of its repository. */

/** The names of policy files. Two of them in one folder are an error. */
export const policyFileNames = ['toml', 'yaml', 'yml', 'json'].map((end) => `switchgear.${end}`);

/** Folders of version control systems, or the file that stands for one: the mark of the root of a repository. */
const repositoryMarks = ['.git', '.hg', '.jj'];

const foldersMax = 64;

/** The home folders of the user, as the environment and the system name them. */
export interface Homes {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Read from the system by default. */
  readonly userHome?: string;
}

/**
 * Lists the folders in which the policy of a folder may lie, the nearest first: the folder itself, and those above it
 * up to the root of the repository. Folders above a home folder are left out. Outside of a repository it is the folder
 * alone.
 */
export function listPolicyFolders(folder: string, homes: Homes): readonly string[] {
  const { existsSync } = process.getBuiltinModule('node:fs');
  const { dirname, join, resolve, sep } = process.getBuiltinModule('node:path');
  const folders = [resolve(folder)];
  const isRoot = (path: string) => repositoryMarks.some((mark) => existsSync(join(path, mark)));
  for (let path = folders[0]!; !isRoot(path); folders.push(path)) {
    if (path === dirname(path) || folders.length >= foldersMax) return folders.slice(0, 1);
    path = dirname(path);
  }
  if (folders.length === 1) return folders;
  const homeFolders = listHomes(homes);
  const isAboveHome = (path: string) =>
    homeFolders.some((home) => home !== path && home.startsWith(path.endsWith(sep) ? path : path + sep));
  return folders.filter((path, at) => at === 0 || !isAboveHome(path));
}

/** Finds the policy files of the nearest folder that has any. */
export function findPolicyFiles(folder: string, homes: Homes): readonly string[] {
  const { existsSync } = process.getBuiltinModule('node:fs');
  const { join } = process.getBuiltinModule('node:path');
  const filesIn = (path: string) => policyFileNames.map((name) => join(path, name)).filter((file) => existsSync(file));
  const own = filesIn(folder); // The usual place: the folders above need not be listed.
  if (own.length > 0) return own;
  for (const path of listPolicyFolders(folder, homes).slice(1)) {
    const files = filesIn(path);
    if (files.length > 0) return files;
  }
  return [];
}

/** The home folders, each also without symbolic links: a working folder has none. */
function listHomes({ env, userHome }: Homes): readonly string[] {
  const { realpathSync } = process.getBuiltinModule('node:fs');
  const { isAbsolute, resolve } = process.getBuiltinModule('node:path');
  const named = [env.HOME, env.USERPROFILE, userHome ?? readUserHome()].flatMap((home) =>
    home !== undefined && isAbsolute(home) ? [resolve(home)] : [],
  );
  const real = named.flatMap((home) => {
    try {
      return [realpathSync(home)];
    } catch {
      return []; // A home that does not exist.
    }
  });
  return [...new Set([...named, ...real])];
}

function readUserHome(): string | undefined {
  try {
    return process.getBuiltinModule('node:os').userInfo().homedir;
  } catch {
    return undefined; // A user without an entry, as in some containers.
  }
}
