/** Writes docs/openapi.json: `npm run openapi`. A test compares it with the declarations. */
import { writeFile } from 'node:fs/promises';

import { documentedApi } from './documented-api.ts';

const target = new URL('../docs/openapi.json', import.meta.url);
await writeFile(target, `${JSON.stringify(documentedApi(), null, 2)}\n`);
