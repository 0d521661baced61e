/**
 * The prices of models (docs/budgets.md#prices). Workers keep them, and read them again when the statement
 * that begins a call tells that they have changed.
 */
import { v7 as uuidv7 } from 'uuid';
import type { EntityManager } from '../../db/orm.ts';
import { Conditions, type KeysetPage } from '../../db/sql.ts';
import { conflict, notFound } from '../errors.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { ownPrice } from '../../contracts/prices.ts';
import type { CallPrice, TokenPrice } from './cost.ts';

/** All of them are in the memory of each worker. */
const MAX_PRICES = 10_000;

export interface PriceFields extends TokenPrice {
  /** Null: of every provider. */
  provider: string | null;
  model: string;
  valid_from: Date;
  valid_to: Date | null;
}

export interface Price extends PriceFields {
  id: string;
  created_at: Date;
  updated_at: Date;
}

const COLUMNS = `id, provider, model, input_per_million_usd::float8 as input_per_million_usd,
  output_per_million_usd::float8 as output_per_million_usd,
  cached_input_per_million_usd::float8 as cached_input_per_million_usd,
  valid_from, valid_to, created_at, updated_at`;

export interface PriceFilter {
  model?: string | undefined;
  provider?: string | undefined;
  at?: string | undefined;
}

/** By model, then provider and beginning. */
export async function listPrices(
  em: EntityManager,
  filter: PriceFilter,
  { after, limit }: KeysetPage,
): Promise<Price[]> {
  const where = new Conditions();
  if (filter.model !== undefined) where.add('model = ?', filter.model);
  if (filter.provider !== undefined) where.add('provider = ?', filter.provider);
  if (filter.at !== undefined)
    where.add(
      'valid_from <= ?::timestamptz and (valid_to is null or valid_to > ?::timestamptz)',
      filter.at,
      filter.at,
    );
  if (after !== undefined) where.add('id > ?', after);
  return em.execute(`select ${COLUMNS} from price where ${where.sql} order by id limit ?`, [
    ...where.values,
    limit,
  ]);
}

export async function getPrice(em: EntityManager, id: string): Promise<Price> {
  const [price] = await em.execute<Price[]>(`select ${COLUMNS} from price where id = ?`, [id]);
  if (!price) throw notFound('price');
  return price;
}

/** Adds the price, or replaces the one of this id. @throws 409 for another one with the same beginning */
export async function putPrice(em: EntityManager, id: string | null, fields: PriceFields): Promise<Price> {
  await noteChange(em);
  const key = id ?? uuidv7();
  const [row] = await em.execute<{ others: number }[]>(
    'select count(*)::int as others from price where id <> ?',
    [key],
  );
  if ((row?.others ?? 0) >= MAX_PRICES)
    throw conflict('limit_reached', `There are at most ${MAX_PRICES} prices. Delete old ones first.`);
  const [taken] = await em.execute<object[]>(
    `select from price where provider is not distinct from ? and model = ? and valid_from = ? and id <> ?`,
    [fields.provider, fields.model, fields.valid_from, key],
  );
  if (taken) throw conflict('price_taken', 'Another price of this model begins at the same time.');
  await em.execute(
    `insert into price (id, provider, model, input_per_million_usd, output_per_million_usd,
                        cached_input_per_million_usd, valid_from, valid_to)
     values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (id) do update set
       provider = excluded.provider, model = excluded.model,
       input_per_million_usd = excluded.input_per_million_usd,
       output_per_million_usd = excluded.output_per_million_usd,
       cached_input_per_million_usd = excluded.cached_input_per_million_usd,
       valid_from = excluded.valid_from, valid_to = excluded.valid_to, updated_at = clock_timestamp()`,
    [
      key,
      fields.provider,
      fields.model,
      fields.input_per_million_usd,
      fields.output_per_million_usd,
      fields.cached_input_per_million_usd,
      fields.valid_from,
      fields.valid_to,
    ],
  );
  return getPrice(em, key);
}

export async function deletePrice(em: EntityManager, id: string): Promise<void> {
  await getPrice(em, id);
  await noteChange(em);
  await em.execute('delete from price where id = ?', [id]);
}

/** Changes come one at a time, and workers learn of each. */
async function noteChange(em: EntityManager): Promise<void> {
  await em.execute('update maintenance set prices_version = prices_version + 1');
}

export interface PriceBook {
  /** The price of the model at that time; that of its provider comes before that of every provider. */
  find(model: string, provider: string | null, at: Date): TokenPrice | null;
}

/** Keeps the prices of this process up to date. */
export interface Prices {
  /** As of this version, or a later one. */
  book(version: number): Promise<PriceBook>;
}

export function createPrices(read: () => EntityManager): Prices {
  let known: { version: number; book: PriceBook } | null = null;
  return {
    async book(version) {
      if (known && known.version >= version) return known.book;
      const [row] = await read().execute<{ version: string; prices: (PriceFields & { from: string })[] }[]>(
        `select m.prices_version as version,
                (select coalesce(json_agg(json_build_object(
                   'provider', provider, 'model', model,
                   'input_per_million_usd', input_per_million_usd,
                   'output_per_million_usd', output_per_million_usd,
                   'cached_input_per_million_usd', cached_input_per_million_usd,
                   'valid_from', valid_from, 'valid_to', valid_to) order by valid_from desc), '[]')
                   from price) as prices
           from maintenance m`,
      );
      known = { version: Number(row?.version ?? 0), book: bookOf(row?.prices ?? []) };
      return known.book;
    },
  };
}

/** @param prices the latest first */
function bookOf(prices: readonly PriceFields[]): PriceBook {
  const byModel = Map.groupBy(prices, ({ model }) => model);
  return {
    find(model, provider, at) {
      const valid = (byModel.get(model) ?? []).filter(
        ({ valid_from: from, valid_to: to }) => new Date(from) <= at && (to === null || new Date(to) > at),
      );
      return (
        valid.find((price) => price.provider !== null && price.provider === provider) ??
        valid.find((price) => price.provider === null) ??
        null
      );
    },
  };
}

/**
 * The price of an agent's calls: what its configuration states, else that of the model, as the answer names
 * it or as the configuration does.
 */
export function priceOf(
  configuration: Record<string, unknown>,
  answered: string | undefined,
  { book, at }: { book: PriceBook; at: Date },
): CallPrice {
  const own = ownPrice.safeParse(configuration['price']).data ?? {};
  const { input_per_million_usd: input, output_per_million_usd: output } = own;
  const stated =
    input === undefined && output === undefined
      ? null
      : {
          input_per_million_usd: input ?? 0,
          output_per_million_usd: output ?? 0,
          cached_input_per_million_usd: own.cached_input_per_million_usd ?? null,
        };
  const provider = typeof configuration['provider'] === 'string' ? configuration['provider'] : null;
  const models = [answered, configuration['model']].filter((name) => typeof name === 'string');
  const listed = models.map((model) => book.find(model, provider, at)).find((price) => price !== null);
  const covered = own.per_invocation_usd !== undefined ? NO_TOKENS : null;
  return { invocation: own.per_invocation_usd ?? 0, tokens: stated ?? listed ?? covered };
}

/** Of an agent whose price is for the invocation, whatever it uses. */
const NO_TOKENS: TokenPrice = {
  input_per_million_usd: 0,
  output_per_million_usd: 0,
  cached_input_per_million_usd: null,
};

/** Whether calls of the agent use tokens of a model. */
export function usesModel(configuration: unknown): boolean {
  return isRecord(configuration) && typeof configuration['model'] === 'string';
}
