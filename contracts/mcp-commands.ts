/** The programs that `call: mcp` may start (setting MCP_COMMANDS). */
import * as z from 'zod';

const command = z.strictObject({
  /** Program and arguments. */
  argv: z.array(z.string().min(1)).min(1).max(100),
  /** Names of the variables that a definition may set. */
  environment: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/))
    .max(100)
    .default([]),
});

/** By the name under which definitions know the program. */
export const mcpCommandsSchema = z.record(z.string().min(1), command);

export type McpCommands = z.output<typeof mcpCommandsSchema>;
