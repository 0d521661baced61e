import { fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { McpCommands } from '../../contracts/mcp-commands.ts';
import type { StdioProgram } from './stdio-transport.ts';

/**
 * The program that a definition names: by its name in MCP_COMMANDS, or by exactly the command and arguments
 * there. Throws `Fault` for any other, and for variables that the setting does not name.
 */
export function programOf(commands: McpCommands, stdio: Record<string, unknown>): StdioProgram {
  const { command, arguments: given, environment } = stdio;
  if (typeof command !== 'string') throw fault('configuration', 'stdio.command must be a text');
  const args = given === undefined || given === null ? [] : given;
  if (!Array.isArray(args) || !args.every((argument) => typeof argument === 'string'))
    throw fault('configuration', 'stdio.arguments must be a list of texts');
  const asked = JSON.stringify([command, ...args]);
  const found =
    args.length === 0 && Object.hasOwn(commands, command)
      ? commands[command]
      : Object.values(commands).find(({ argv }) => JSON.stringify(argv) === asked);
  if (found === undefined)
    throw fault(
      'authorization',
      `The program ${JSON.stringify(command)} with these arguments is not in the setting MCP_COMMANDS, ` +
        'which the operator of this installation sets',
    );
  return { argv: found.argv, environment: variablesOf(environment, found.environment) };
}

function variablesOf(given: unknown, allowed: readonly string[]): Record<string, string> {
  if (given === undefined || given === null) return {};
  if (!isRecord(given)) throw fault('configuration', 'stdio.environment must be an object');
  return Object.fromEntries(
    Object.entries(given).map(([name, value]): [string, string] => {
      if (!allowed.includes(name))
        throw fault(
          'authorization',
          `The variable ${JSON.stringify(name)} is not one that MCP_COMMANDS lets a definition set`,
        );
      if (typeof value !== 'string' || value.includes('\0'))
        throw fault('configuration', `The variable ${name} must be a text`);
      return [name, value];
    }),
  );
}
