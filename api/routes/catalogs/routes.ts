/** The default catalog of the definition language: the functions that the platform brings. */
import * as z from 'zod';

import {
  CATALOG_FUNCTIONS,
  CATALOG_VERSION,
  catalogName,
  factsOf,
} from '../../../language/definition/call-function.ts';
import type { CallFunction } from '../../../language/definition/model.ts';
import { argumentsSchema } from '../../../language/definition/json-schema.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { jsonObject } from '../../schemas.ts';

/** Of the functions of the catalog. They are here because the editor's bundle needs no texts of this list. */
const SUMMARIES: Readonly<Partial<Record<CallFunction, string>>> = {
  agent: 'Calls a registered agent; the output is the answer of the agent.',
  human: 'Asks people for a decision; the output is the decision, with payload and comment.',
  map: 'Runs tasks for each item of an array at the same time; the output is the array of outputs.',
};

const catalogFunction = z
  .object({
    name: z.string(),
    version: z.string(),
    call: z.string().meta({ description: 'The full name, as `call` of a task may name it.' }),
    runnable: z.boolean(),
    summary: z.string(),
    arguments: jsonObject.meta({ description: 'JSON Schema of `with`.' }),
  })
  .meta({ id: 'CatalogFunction' });

const catalogRecord = z
  .object({ name: z.literal('default'), functions: z.array(catalogFunction) })
  .meta({ id: 'Catalog' });

export function catalogEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/catalogs/default',
      operationId: 'getDefaultCatalog',
      summary: 'Get the functions that every definition can call without naming a catalog',
      tags: ['workflows'],
      role: 'public',
      responses: { 200: catalogRecord },
      handler: async (c) => ({
        status: 200,
        body: {
          name: 'default',
          functions: CATALOG_FUNCTIONS.map((name) => ({
            name,
            version: CATALOG_VERSION,
            call: catalogName(name),
            runnable: factsOf(name).notYet === null,
            summary: SUMMARIES[name] ?? '',
            arguments: argumentsSchema(name, `${c.baseUrl}/schemas/workflow.json`),
          })),
        },
        headers: { 'Cache-Control': 'public, max-age=3600' },
      }),
    }),
  ];
}
