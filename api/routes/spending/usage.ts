/** Usage of agents: docs/budgets.md#usage. */
import * as z from 'zod';

import { readUsage, USAGE_BY, type UsageFilter, type UsageRow } from '../../../domain/spending/usage.ts';
import { CSV, csvLine } from '../../csv.ts';
import { endpoint, media, type Endpoint } from '../../endpoint.ts';
import { orderBy, readPage } from '../../paging.ts';
import { instant, pageQuery, personOrMe, uuid } from '../../schemas.ts';
import { userIdOf, type Actor } from '../../../domain/auth/actor.ts';

const usageRecord = z
  .object({
    key: z.string().meta({
      description:
        'The id of the run, agent, workflow or user, the day of UTC, the name of the model; of a task the ' +
        "run's id followed by the JSON pointer. Empty: none.",
    }),
    name: z.string().nullable(),
    invocations: z.number(),
    unpriced: z
      .number()
      .meta({ description: 'Invocations of unknown cost: `cost_usd` is that of the others.' }),
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost_usd: z.number().nullable().meta({ description: 'Null: unknown.' }),
  })
  .meta({ id: 'Usage' });

const COLUMNS = [
  'key',
  'name',
  'invocations',
  'unpriced',
  'input_tokens',
  'output_tokens',
  'cost_usd',
] as const satisfies (keyof UsageRow)[];
/** Of a table in CSV. */
const MAX_ROWS = 10_000;

const filters = {
  by: z.enum(USAGE_BY).default('day'),
  from: instant.optional().meta({ description: 'A time in the first day.' }),
  to: instant.optional().meta({ description: 'The end: in the last day, or at its end.' }),
  user_id: personOrMe.optional(),
  agent_id: uuid.optional(),
  workflow_id: uuid.optional(),
  run_id: uuid.optional(),
};

function filterOf(actor: Actor, { user_id: user, ...filter }: UsageFilter): UsageFilter {
  return { ...filter, ...(user === undefined ? {} : { user_id: userIdOf(actor, user) }) };
}

/** A cursor is a key. */
const byKey = orderBy<{ key: string }, string>(z.string().max(4_100), ({ key }) => key);

export function usageEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/usage',
      operationId: 'listUsage',
      summary: "Sum up what agents have used in the caller's runs; admins see all",
      description:
        'By run, task and day the latest first, else in the order of keys. Days are those of UTC. It stays ' +
        'after runs are removed.',
      tags: ['spending'],
      role: 'viewer',
      query: z.object({ ...pageQuery, ...filters }),
      responses: { 200: z.array(usageRecord) },
      handler: async (c) => {
        const { items, headers } = await readPage(c, byKey, (page, filter) =>
          readUsage(c.em, c.actor, filterOf(c.actor, filter), page),
        );
        return { status: 200, body: items, headers };
      },
    }),
    endpoint({
      method: 'GET',
      path: '/usage/csv',
      operationId: 'exportUsage',
      summary: `Get the usage as a table in CSV, of at most ${MAX_ROWS} rows`,
      tags: ['spending'],
      role: 'viewer',
      query: z.object(filters),
      responses: { 200: media({ [CSV]: z.string() }) },
      handler: async (c) => {
        const rows = await readUsage(c.em, c.actor, filterOf(c.actor, c.query), { limit: MAX_ROWS });
        return { status: 200, type: CSV, body: csvOf(rows) };
      },
    }),
  ];
}

function csvOf(rows: readonly UsageRow[]): string {
  const lines = [COLUMNS, ...rows.map((row) => COLUMNS.map((name) => row[name]))];
  return lines.map(csvLine).join('');
}
