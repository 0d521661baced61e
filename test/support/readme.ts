import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsIn } from './shell.ts';

/** The commands of the ```bash blocks below the heading of README.md, as a reader would type them. */
export function readmeCommands(heading: string): string[] {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (!section) throw new Error(`README.md has no section ${heading}`);
  return commandsIn(section, 'bash');
}
