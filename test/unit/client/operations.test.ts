import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

import { OPERATIONS } from '../../../client/index.ts';
import { clientOperations } from '../../../dev/client-operations.ts';
import { documentedApi } from '../../../dev/documented-api.ts';

const file = fileURLToPath(new URL('../../../client/operations.ts', import.meta.url));
const document = documentedApi();

test('the committed operations match the declarations (npm run openapi writes them)', async () => {
  expect(await readFile(file, 'utf8')).toBe(await clientOperations(document, file));
});

test('every operation of the document can be called', () => {
  const documented = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((operation) => operation['operationId']),
  );
  expect(Object.keys(OPERATIONS).toSorted()).toEqual(documented.toSorted());
});

test('types follow the schemas', async () => {
  const types = await typesOf({
    Shape: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'Ends a comment: */' },
        'content-type': { type: ['string', 'null'] },
        kind: { enum: ['a', 'b'] },
        version: { const: 1 },
        anything: {},
        list: { type: 'array', items: { anyOf: [{ $ref: '#/components/schemas/Other' }, { type: 'null' }] } },
        reasons: {
          type: 'object',
          propertyNames: { enum: ['x', 'y'] },
          additionalProperties: { type: 'string' },
        },
      },
      required: ['id', 'list'],
      additionalProperties: false,
    },
    Other: { type: 'object', additionalProperties: { type: 'integer' } },
    Open: { type: 'object', properties: { code: { type: 'string' } }, additionalProperties: {} },
    Empty: { type: 'object', properties: {}, additionalProperties: false },
  });
  expect(types).toContain(`export type Shape = {
  /** Ends a comment: * / */
  id: string;
  'content-type'?: string | null;
  kind?: 'a' | 'b';
  version?: 1;
  anything?: unknown;
  list: (Other | null)[];
  reasons?: Partial<Record<'x' | 'y', string>>;
};
export type Other = Record<string, number>;
export type Open = {
  code?: string;
  [name: string]: unknown;
};
export type Empty = Record<string, never>;
`);
});

async function typesOf(schemas: Record<string, unknown>): Promise<string> {
  return clientOperations({ ...document, paths: {}, components: { ...document.components, schemas } }, file);
}
