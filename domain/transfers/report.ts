/** What a transfer has handed over. */
import type { EntityManager } from '../../db/orm.ts';
import { notFound } from '../errors.ts';
import { findTransfer, KINDS } from './batches.ts';
import type { Renamed } from './secrets.ts';

export interface TransferReport extends Record<(typeof KINDS)[number], number> {
  status: 'running' | 'done';
  to: string;
  /** Old names → new names, of the secrets that had another one's name. */
  secrets_renamed: Renamed;
}

/** Of the user's last one. @throws 404 */
export async function readTransferReport(em: EntityManager, userId: string): Promise<TransferReport> {
  const row = await findTransfer(em, userId);
  if (row === null) throw notFound('transfer');
  const { agents = 0, workflows = 0, runs = 0, files = 0, webhooks = 0, items = 0, ...rest } = row.counts;
  const { human_tasks: tasks = 0, secrets = 0, conversations = 0, chats = 0 } = rest;
  return {
    status: row.finished_at === null ? 'running' : 'done',
    to: row.to_id,
    agents,
    workflows,
    runs,
    files,
    webhooks,
    items,
    human_tasks: tasks,
    conversations,
    chats,
    secrets,
    secrets_renamed: row.renamed,
  };
}
