/** Prices of models: docs/budgets.md#prices. */
import * as z from 'zod';

import { dollars } from '../../../contracts/prices.ts';
import { invalid } from '../../../domain/errors.ts';
import {
  deletePrice,
  getPrice,
  listPrices,
  putPrice,
  type Price,
  type PriceFields,
} from '../../../domain/spending/prices.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { byId, readPage } from '../../paging.ts';
import { idParams, instant, pageQuery, text, timestamp, uuid } from '../../schemas.ts';

const TAGS = ['spending'];
const model = text({ min: 1, max: 255 });
const provider = text({ min: 1, max: 100 });

const priceRecord = z
  .object({
    id: uuid,
    provider: z.string().nullable().meta({ description: 'Null: of every provider.' }),
    model: z.string(),
    input_per_million_usd: z.number(),
    output_per_million_usd: z.number(),
    cached_input_per_million_usd: z
      .number()
      .nullable()
      .meta({ description: 'Of input that the provider had kept. Null: as other input.' }),
    valid_from: timestamp,
    valid_to: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Price' });

const priceBody = z.object({
  provider: provider.nullish(),
  model,
  input_per_million_usd: dollars,
  output_per_million_usd: dollars,
  cached_input_per_million_usd: dollars.nullish(),
  valid_from: instant.nullish().meta({ description: 'Default: now.' }),
  valid_to: instant.nullish().meta({ description: 'Default: until a later price of the model begins.' }),
});

/** Everybody may read the prices; admins change them. */
export function priceEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/prices',
      operationId: 'listPrices',
      summary: 'List the prices of models, oldest first',
      tags: TAGS,
      role: 'viewer',
      query: z.object({
        ...pageQuery,
        model: model.optional(),
        provider: provider.optional(),
        at: instant.optional().meta({ description: 'Only prices that are valid at that time.' }),
      }),
      responses: { 200: z.array(priceRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byId, (page, filter) => listPrices(c.em, filter, page));
        return { status: 200, body: items.map(presentPrice), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/prices',
      operationId: 'createPrice',
      summary: 'Add a price of a model',
      description:
        'Of several prices that are valid at a time, the one that began last counts. An invocation costs ' +
        'what was valid at its beginning.',
      tags: TAGS,
      role: 'admin',
      body: priceBody,
      record: priceRecord,
      responses: { 201: priceRecord },
      errors: [409],
      handler: async (c) => {
        const price = await putPrice(c.em, null, fieldsOf(c.body, new Date()));
        return { status: 201, body: presentPrice(price), headers: { Location: `/prices/${price.id}` } };
      },
    }),
    ...onePriceEndpoints(),
  ];
}

function onePriceEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/prices/{id}',
      operationId: 'getPrice',
      summary: 'Get a price',
      tags: TAGS,
      role: 'viewer',
      params: idParams,
      responses: { 200: priceRecord },
      handler: async (c) => ({ status: 200, body: presentPrice(await getPrice(c.em, c.params.id)) }),
    }),
    endpoint({
      method: 'PUT',
      path: '/prices/{id}',
      operationId: 'replacePrice',
      summary: 'Add or replace the price of this id; costs that are booked stay',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      body: priceBody,
      record: priceRecord,
      responses: { 200: priceRecord },
      errors: [409],
      handler: async (c) => {
        const price = await putPrice(c.em, c.params.id, fieldsOf(c.body, new Date()));
        return { status: 200, body: presentPrice(price) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/prices/{id}',
      operationId: 'deletePrice',
      summary: 'Delete a price; costs that are booked stay',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      responses: { 204: null },
      handler: async (c) => {
        await deletePrice(c.em, c.params.id);
        return { status: 204 };
      },
    }),
  ];
}

/** Models are younger, and drivers take years of two digits for others. */
const EARLIEST = new Date(0);

/** @throws 422 for a price that begins before 1970, or ends before it begins */
function fieldsOf(body: z.output<typeof priceBody>, from: Date): PriceFields {
  const fields = {
    provider: body.provider ?? null,
    model: body.model,
    input_per_million_usd: body.input_per_million_usd,
    output_per_million_usd: body.output_per_million_usd,
    cached_input_per_million_usd: body.cached_input_per_million_usd ?? null,
    valid_from: body.valid_from ? new Date(body.valid_from) : from,
    valid_to: body.valid_to ? new Date(body.valid_to) : null,
  };
  if (fields.valid_from < EARLIEST)
    throw invalid([{ pointer: '/valid_from', code: 'out_of_range', message: 'must not be before 1970' }]);
  if (fields.valid_to !== null && fields.valid_to <= fields.valid_from)
    throw invalid([{ pointer: '/valid_to', code: 'out_of_range', message: 'must be after valid_from' }]);
  return fields;
}

function presentPrice(price: Price): z.input<typeof priceRecord> {
  const time = (value: Date): string => new Date(value).toISOString();
  const { valid_to: to, valid_from: from, created_at: created, updated_at: updated, ...fields } = price;
  return {
    ...fields,
    valid_from: time(from),
    valid_to: to && time(to),
    created_at: time(created),
    updated_at: time(updated),
  };
}
