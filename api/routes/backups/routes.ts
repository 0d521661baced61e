/** What the database knows of backups, for administrators (docs/operations.md#back-up-by-timetable). */
import * as z from 'zod';

import { backupWarning, readBackups, timetableOf, type Backups } from '../../../domain/operations/backups.ts';
import type { AppDeps } from '../../deps.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { timestamp } from '../../schemas.ts';

const place = z.string().meta({ description: 'The folder, on the machine that took it.' });
const backupsRecord = z
  .object({
    complete: z
      .object({
        place,
        started_at: timestamp,
        seconds: z.number().meta({ description: 'How long it took.' }),
        bytes: z.int().meta({ description: 'Of the whole folder.' }),
      })
      .nullable()
      .meta({ description: 'The newest that is complete.' }),
    failed: z
      .object({ place, ended_at: timestamp, error: z.string() })
      .nullable()
      .meta({ description: 'The newest attempt that failed.' }),
    failures: z.int().meta({ description: 'Attempts that failed since the last complete one.' }),
    running_since: timestamp.nullable().meta({ description: 'Null unless a backup is being taken.' }),
    warning: z
      .string()
      .nullable()
      .meta({ description: 'What is wrong: there is none, it is old, or attempts fail. Null: nothing.' }),
  })
  .meta({ id: 'Backups' });

export function backupEndpoints({ env }: Pick<AppDeps, 'env'>): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/backups/latest',
      operationId: 'getLatestBackups',
      summary: 'Get the last complete backup and the last one that failed',
      description: 'Of `cadenza server backup`. Backups that are taken by other means are not known here.',
      tags: ['operations'],
      role: 'admin',
      responses: { 200: backupsRecord },
      handler: async (c) => {
        const backups = await readBackups(c.em);
        const warning = backupWarning(backups, timetableOf(env));
        return { status: 200, body: { ...presentBackups(backups), warning } };
      },
    }),
  ];
}

function presentBackups({ complete, failed, failures, runningSince }: Backups) {
  return {
    complete:
      complete === null
        ? null
        : {
            place: complete.place,
            started_at: complete.startedAt.toISOString(),
            seconds: complete.seconds,
            bytes: complete.bytes,
          },
    failed:
      failed === null
        ? null
        : { place: failed.place, ended_at: failed.endedAt.toISOString(), error: failed.error },
    failures,
    running_since: runningSince?.toISOString() ?? null,
  };
}
