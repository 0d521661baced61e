/**
 * Continues what requests have begun and follows in batches, also after a crash: erasures, transfers, ends of
 * teams, memberships by groups.
 */
import type { Logger } from 'pino';
import type { EntityManager } from '../db/orm.ts';
import type { FileStore } from '../domain/files/ports.ts';
import { continueErasures } from '../domain/privacy/continue-erasures.ts';
import { removeHistories, type HistoryGateway } from '../domain/privacy/histories.ts';
import { continueTeamEnds } from '../domain/teams/end.ts';
import { continueFollowing } from '../domain/teams/people-of-groups.ts';
import { continueTransfers } from '../domain/transfers/continue.ts';

/** How often it goes on, and how long each works at once. */
const EVERY_MS = 10_000;

export interface Deps {
  fork: () => EntityManager;
  files: Pick<FileStore, 'remove'>;
  temporal: HistoryGateway;
  logger: Pick<Logger, 'warn'>;
}

/** @returns what ends it */
export function continueWork({ fork, files, temporal, logger }: Deps): () => void {
  const timer = setInterval(() => {
    continueErasures({ fork, files }, EVERY_MS).catch((error: unknown) =>
      logger.warn({ err: error }, "cannot continue the erasure of a person's data"),
    );
    removeHistories(fork, temporal, EVERY_MS).catch((error: unknown) =>
      logger.warn({ err: error }, 'cannot remove histories of runs in Temporal, the next round will'),
    );
    continueTransfers(fork, EVERY_MS).catch((error: unknown) =>
      logger.warn({ err: error }, 'cannot continue a transfer, the next round will'),
    );
    continueTeamEnds(fork, EVERY_MS).catch((error: unknown) =>
      logger.warn({ err: error }, 'cannot take runs out of a team that was deleted, the next round will'),
    );
    continueFollowing(fork, EVERY_MS).catch((error: unknown) =>
      logger.warn({ err: error }, 'cannot give people the roles of their groups, the next round will'),
    );
  }, EVERY_MS);
  return () => clearInterval(timer);
}
