/** The names of servers and tools, as agent CLIs write them. */

/** The name of a server: `mcp__weather`. */
export function nameServer(server: string): string {
  return `mcp__${server.replaceAll(/[^\w-]/g, '_')}`;
}

/** The name of a server's tool: `mcp__weather__forecast`. */
export function nameTool(server: string, tool: string): string {
  return `${nameServer(server)}__${tool}`;
}
