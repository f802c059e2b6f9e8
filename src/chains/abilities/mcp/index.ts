/** Abilities that are tools of MCP servers: `trading.get_price` is the tool `get_price` of the server `trading`. */

import { SwitchgearError } from '../../../core/error.ts';
import type { AbilitySource } from '../ability.ts';
import { type McpEnvironment, readMcpConfig } from './config.ts';
import type { McpSdk } from './process-transport.ts';
import { createMcpServer, type McpServer } from './server.ts';

/** The working folder and environment of the servers. Default: those of this process. */
export type McpOptions = Partial<McpEnvironment>;

/** The servers of an `mcpServers` configuration. A server starts when a step first needs one of its tools. */
export function mcpAbilities(config: unknown, options: McpOptions = {}): AbilitySource {
  const { cwd = process.cwd(), env = process.env, onStderr } = options;
  const environment = { cwd, env, onStderr };
  const configs = readMcpConfig(config);
  const servers = new Map<string, Promise<McpServer>>();

  /** Creates a server on first use, so that the MCP client package is loaded only when needed. */
  const getServer = (name: string): Promise<McpServer> => {
    const existing = servers.get(name);
    if (existing) return existing;
    const created = loadSdk().then((sdk) => createMcpServer(sdk, name, configs.get(name)!, environment));
    servers.set(name, created);
    created.catch(() => servers.delete(name)); // No server was started, so `close` has nothing to end.
    return created;
  };

  return {
    async find(name) {
      const found = findServer(name, [...configs.keys()]);
      if (found === undefined) return undefined;
      const server = await getServer(found);
      const tool = name.slice(found.length + 1);
      const tools = await server.tools().catch((error: Error) => {
        // A server that cannot start refuses the run before its first step.
        throw error instanceof SwitchgearError
          ? error
          : new SwitchgearError('ability_unavailable', error.message, { cause: error });
      });
      if (!tools.includes(tool)) return undefined;
      return { name, scope: 'shared', run: (call) => server.call(tool, call), identify: () => server.identify() };
    },
    async names() {
      const lists = [...configs.keys()].map(async (name) => {
        const tools = await servers.get(name)?.then((server) => server.tools().catch(() => ['…']));
        return (tools ?? ['…']).map((tool) => `${name}.${tool}`);
      });
      return (await Promise.all(lists)).flat();
    },
    async close() {
      await Promise.all([...servers.values()].map(async (server) => (await server).close()));
    },
  };
}

/** Loads the MCP client. A missing package is ERR_MODULE_NOT_FOUND in Node, MODULE_NOT_FOUND in some bundles. */
async function loadSdk(): Promise<McpSdk> {
  try {
    return await import('@modelcontextprotocol/client');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    const advice = 'install it with: npm install @modelcontextprotocol/client';
    throw new SwitchgearError('missing_package', `MCP servers need @modelcontextprotocol/client; ${advice}`, {
      cause: error,
    });
  }
}

/** The longest server name that is a prefix of the ability: both names may contain dots. */
function findServer(ability: string, servers: readonly string[]): string | undefined {
  const candidates = servers.filter((name) => ability.startsWith(`${name}.`) && ability.length > name.length + 1);
  return candidates.toSorted((a, b) => b.length - a.length)[0];
}
