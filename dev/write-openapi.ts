/**
 * Writes docs/openapi.json and, from it, client/operations.ts: `npm run openapi`. Tests compare both with the
 * declarations.
 */
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { clientOperations } from './client-operations.ts';
import { compactJson } from './compact-json.ts';
import { documentedApi } from './documented-api.ts';

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const document = documentedApi();
const operations = file('../client/operations.ts');
await writeFile(file('../docs/openapi.json'), `${compactJson(document)}\n`);
await writeFile(operations, await clientOperations(document, operations));
