/** `npm run cli-docs`: writes docs/cli.md from the declarations of the commands. A test compares them. */
import { readFile, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';

import { cliDocs } from './cli-docs.ts';

const file = new URL('../docs/cli.md', import.meta.url);
await writeFile(
  file,
  await format(await cliDocs(await readFile(file, 'utf8')), {
    ...(await resolveConfig(file)),
    parser: 'markdown',
  }),
);
