/** Statistics of runs: docs/runs.md#statistics. */
import * as z from 'zod';

import {
  MAX_ALL_BUCKETS,
  MAX_BUCKETS,
  MAX_SERIES,
  readRunStats,
  STATS_UNITS,
  statsRange,
  type StatsRange,
  type StatsSeries,
} from '../../../domain/runs/stats.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { instant, timestamp, uuid } from '../../schemas.ts';
import { runStatus } from './schemas.ts';

const count = z.int().min(0);

const bucketSchema = z
  .object({
    at: timestamp.meta({ description: 'Beginning of the hour or day, in UTC.' }),
    started: count.meta({ description: 'Runs that were created in it.' }),
    completed: count.meta({ description: 'Runs that ended in it, by their final status.' }),
    faulted: count,
    cancelled: count,
    total_ms: count.meta({
      description: 'How long the completed runs took together, from start to end, with all waiting.',
    }),
    slowest_ms: count.nullable().meta({ description: 'How long the slowest of them took.' }),
  })
  .meta({ id: 'RunStatsBucket' });

const seriesSchema = z
  .object({
    workflow_id: uuid.nullable().meta({ description: 'Null: all runs.' }),
    last_run: z
      .object({ id: uuid, status: runStatus, created_at: timestamp })
      .nullable()
      .meta({ description: 'The latest run of the workflow, at any time; null for all runs.' }),
    buckets: z
      .array(bucketSchema)
      .meta({ description: 'Oldest first; those in which nothing happened are left out.' }),
  })
  .meta({ id: 'RunStatsSeries' });

const statsSchema = z
  .object({
    by: z.enum(STATS_UNITS),
    from: timestamp.meta({ description: 'Beginning of the first hour or day.' }),
    to: timestamp.meta({ description: 'End of the last one.' }),
    series: z.array(seriesSchema),
  })
  .meta({ id: 'RunStats' });

const statsQuery = z.object({
  by: z.enum(STATS_UNITS).default('hour'),
  workflow_id: z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(uuid).max(MAX_SERIES))
    .optional()
    .meta({
      description:
        `One or more, up to ${MAX_SERIES}, separated by commas: a series for each. Default: one ` +
        'series of all runs.',
      type: 'string',
    }),
  team_id: uuid.optional().meta({
    description: 'A team: only runs of the workflows that it has now, for its builders whoever started them.',
  }),
  from: instant.optional().meta({
    description: 'In the first hour or day. Default: 24 hours or 14 days before `to`.',
  }),
  to: instant.optional().meta({ description: 'After the last hour or day. Default: now.' }),
});

export function runStatsEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/runs/stats',
    operationId: 'getRunStats',
    summary: "Count the caller's runs by hour or day",
    description:
      "Counts the caller's own runs, for admins everybody's, also those that are removed by now. Runs of " +
      "the caller's teams that others have started are among them with `team_id` only. " +
      `Hours and days are those of UTC. At most ${MAX_BUCKETS.hour} hours or ${MAX_BUCKETS.day} days, and ` +
      `${MAX_ALL_BUCKETS} of all series together.`,
    tags: ['runs'],
    role: 'viewer',
    query: statsQuery,
    responses: { 200: statsSchema },
    async handler(c) {
      const range = statsRange(c.query, Date.now());
      const series = await readRunStats(c.em, c.actor, range, c.query);
      return { status: 200, body: present(range, series) };
    },
  });
}

function present({ by, from, to }: StatsRange, series: readonly StatsSeries[]): z.input<typeof statsSchema> {
  return {
    by,
    from: from.toISOString(),
    to: to.toISOString(),
    series: series.map(({ workflow_id, last_run: last, buckets }) => ({
      workflow_id,
      last_run: last && { ...last, created_at: new Date(last.created_at).toISOString() },
      buckets: buckets.map((bucket) => ({ ...bucket, at: new Date(bucket.at).toISOString() })),
    })),
  };
}
