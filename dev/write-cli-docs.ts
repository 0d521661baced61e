/**
 * `npm run cli-docs`: writes docs/cli.md and cli/listed.ts from the declarations of the commands. A test
 * compares them.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';

import { cliDocs, cliList } from './cli-docs.ts';

async function write(name: string, textOf: (current: string) => Promise<string>): Promise<void> {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const text = await textOf(await readFile(file, 'utf8'));
  await writeFile(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}

await write('docs/cli.md', cliDocs);
await write('cli/listed.ts', cliList);
