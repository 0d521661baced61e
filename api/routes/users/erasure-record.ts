/** The request for an erasure, and its report, as the API has them. */
import * as z from 'zod';

import { RUN_CHOICES, type ErasureReport } from '../../../domain/privacy/erase.ts';
import { NAME_KINDS } from '../../../domain/privacy/names.ts';
import { MAX_PLACES, TEXT_CHOICES } from '../../../domain/privacy/text-report.ts';
import { text, timestamp, uuid } from '../../schemas.ts';

const counts = z.record(z.string(), z.int());

const kept = z.object({ kind: z.string(), count: z.int().nullable(), why: z.string() });

const foundTexts = z
  .object({
    status: z.enum(['waiting', 'searching', 'done', 'stopped']).meta({
      description:
        '`stopped`: a dry run did not have the time to search everything, so the counts are parts.',
    }),
    names: z.array(
      z.object({
        name: z.enum(NAME_KINDS),
        treatment: z.enum(['searched', 'only_reported', 'not_searched']),
        why: z.string().nullable(),
      }),
    ),
    found: counts.meta({ description: 'Records by kind in which a name was found.' }),
    replaced: counts.meta({ description: 'Those among them in which it was replaced.' }),
    stays: z
      .array(kept)
      .meta({ description: 'With `free_text: replace`: where a name stays, with the reason.' }),
    places: z
      .array(z.object({ kind: z.string(), id: z.string(), why: z.string().nullable() }))
      .meta({ description: `The first ${MAX_PLACES} records in which a name is still.` }),
  })
  .meta({ description: 'Names of the user in texts that people wrote and agents returned.' });

export const erasureRecord = z
  .object({
    user_id: uuid,
    status: z.enum(['planned', 'blocked', 'running', 'incomplete', 'done']).meta({
      description:
        'Of a dry run: `planned`, or `blocked` if the erasure would be refused. `incomplete`: Temporal ' +
        'refuses to remove histories (`histories.refused`); everything else is done.',
    }),
    runs: z.enum(RUN_CHOICES),
    free_text: z.enum(TEXT_CHOICES),
    requested_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    owned: z
      .record(z.string(), z.object({ count: z.int(), ids: z.array(uuid) }))
      .meta({ description: 'What has to be handed over first, with the first ids of each kind.' }),
    obstacles: z
      .array(z.object({ code: z.string(), detail: z.string() }))
      .meta({ description: 'Of a dry run: why the erasure would be 409, with the codes of the refusals.' }),
    removed: counts.meta({ description: 'Records by kind.' }),
    replaced: counts.meta({ description: 'Records that stay without the name.' }),
    kept: z.array(kept),
    texts: foundTexts,
    histories: z
      .object({
        removed: z.int().meta({ description: 'Runs whose histories Temporal has removed.' }),
        waiting: z.int().meta({ description: 'Runs whose histories are still to be removed.' }),
        refused: z.int().meta({
          description:
            'Runs whose histories Temporal refuses to remove. `POST /users/{id}/erasure/retry` tries again.',
        }),
        refusal: z
          .string()
          .nullable()
          .meta({ description: 'How it refuses, as a status of gRPC: `PERMISSION_DENIED`.' }),
        kept: z.int().meta({ description: 'Ended runs of the user whose histories Temporal still keeps.' }),
        kept_until: timestamp.nullable().meta({
          description: 'When the last of them is gone; null without one, and while Temporal does not answer.',
        }),
      })
      .meta({ description: 'Histories of runs in Temporal, which are encrypted.' }),
  })
  .meta({ id: 'Erasure' });

export const erasureRequest = z
  .strictObject({
    dry_run: z.boolean().default(false).meta({ description: 'Only report what would happen.' }),
    runs: z
      .enum(RUN_CHOICES)
      .default('keep')
      .meta({ description: 'Ended runs that the user owns: `remove` takes them along.' }),
    free_text: z
      .enum(TEXT_CHOICES)
      .default('report')
      .meta({
        description:
          "The user's names in texts of everybody: `report` lists the records, `replace` replaces names " +
          'where records may change, which cannot be undone.',
      }),
    confirm: text({ max: 255 }).optional().meta({ description: 'The username, unless `dry_run`.' }),
  })
  .meta({ id: 'ErasureRequest' });

export function presentErasure(report: ErasureReport): z.output<typeof erasureRecord> {
  const { requested_at: requested, finished_at: finished, histories } = report;
  return {
    ...report,
    histories: { ...histories, kept_until: histories.kept_until?.toISOString() ?? null },
    requested_at: requested?.toISOString() ?? null,
    finished_at: finished?.toISOString() ?? null,
  };
}
