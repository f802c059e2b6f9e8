/** The settings files from which agent CLIs read their hooks. */

import { join } from 'node:path';

/** The folders of settings. */
export interface SettingsFolders {
  readonly home: string;
  readonly project: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Lists the files in which hooks of any host can be changed or switched off. */
export function listHookSettings({ home, project, env }: SettingsFolders): readonly string[] {
  const claude = [env.CLAUDE_CONFIG_DIR || join(home, '.claude'), join(project, '.claude')];
  const codex = [env.CODEX_HOME || join(home, '.codex'), join(project, '.codex')];
  const gemini = [join(env.GEMINI_CLI_HOME || home, '.gemini'), join(project, '.gemini')];
  return [
    ...claude.flatMap((folder) => [join(folder, 'settings.json'), join(folder, 'settings.local.json')]),
    ...codex.flatMap((folder) => [join(folder, 'hooks.json'), join(folder, 'config.toml')]),
    ...gemini.map((folder) => join(folder, 'settings.json')),
  ];
}
