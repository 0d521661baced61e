/** Turns what was written with changes into messages that are due. */
import { answerPasswordRequests } from '../auth/password-requests.ts';
import { shardsWithMails } from './account-mails.ts';
import { writeAccountNotices } from './account-notices.ts';
import { expandNotices, type ExpandDeps } from './expand.ts';

export interface PrepareDeps extends ExpandDeps {
  /** How long a link to choose a new password lives. */
  passwordLinkMinutes: number;
}

/** @returns the shards that have something to send */
export async function prepareMessages(deps: PrepareDeps, heartbeat?: () => void): Promise<Set<number>> {
  const shards = await expandNotices(deps, heartbeat);
  await answerPasswordRequests(deps);
  await writeAccountNotices(deps.orm, deps.hasMail);
  for (const shard of await shardsWithMails(deps.orm.em.fork())) shards.add(shard);
  return shards;
}
