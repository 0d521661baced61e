import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The lines of the ```bash blocks below the heading of README.md, as a reader would type them. */
export function readmeCommands(heading: string): string[] {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
  const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (!section) throw new Error(`README.md has no section ${heading}`);
  return [...section.matchAll(/^```bash\n([\s\S]*?)^```/gm)].flatMap((match) => (match[1] ?? '').trimEnd().split('\n'));
}
