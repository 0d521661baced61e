/**
 * The agent versions that a run uses. They are pinned when the run starts, or at the first use by an
 * expression, with the same rights.
 */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { fault } from '../../contracts/fault.ts';
import { usableBy } from '../auth/ownership.ts';
import { AppError, invalid } from '../errors.ts';
import type { PinnedAgent } from '../ports.ts';
import { isInShare } from '../registry/canary.ts';
import type { Reader } from '../registry/name-warnings.ts';
import { pinAgent, type Share } from '../registry/pin.ts';

export interface AgentReference {
  /** As the definition writes it: id or name. */
  agent: string;
  /** Semantic version, range or `draft`. */
  version?: string;
  /** The agent that the name meant when the definition was saved. */
  agent_id?: string;
  /** The pointer in the definition, for problems. */
  pointer?: string;
}

/** Escapes `@` in names, so that an agent named `me@1.0.0` differs from version 1.0.0 of `me`. */
export function pinKey({ agent, version }: Pick<AgentReference, 'agent' | 'version'>): string {
  const name = agent.replaceAll('%', '%25').replaceAll('@', '%40');
  return version === undefined ? name : `${name}@${version}`;
}

/** The pin of the agent whose call the run itself is. No reference of a definition has this key. */
export const ENTRY_PIN = '@entry';

/** The inverse of `pinKey`. */
export function referenceOf(key: string): AgentReference {
  const at = key.indexOf('@');
  const agent = (at < 0 ? key : key.slice(0, at)).replaceAll('%40', '@').replaceAll('%25', '%');
  return at < 0 ? { agent } : { agent, version: key.slice(at + 1) };
}

/** A row of `run_pin` for a run that is about to be created. */
export interface Pin {
  reference: string;
  agent_id: string;
  version: string;
  snapshot: PinnedAgent;
}

/** The run that decides whether its calls go to canaries. */
interface SharingRun {
  id: string;
  /** The run that it retries: the retry goes where that one went. */
  retry_of?: string | null | undefined;
}

/** The same for every repeat of a run's start. */
export function shareOf(em: EntityManager, run: SharingRun, reference: AgentReference): Share {
  return async (agentId, { version, percent }) => {
    if (run.retry_of) {
      const [before] = await em.execute<{ version: string }[]>(
        `select version from run_pin where run_id = ? and reference = ?`,
        [run.retry_of, pinKey(reference)],
      );
      if (before) return before.version === version;
    }
    return isInShare(run.id, agentId, percent);
  };
}

/** The pins for a new run. @throws 422 if the workflow's owner cannot use an agent */
export async function pinAll(
  em: EntityManager,
  ownerId: string,
  references: AgentReference[],
  run: SharingRun & { owner_id: string },
): Promise<Pin[]> {
  const pins = new Map<string, Pin>();
  for (const given of references) {
    const reference = pinKey(given);
    if (pins.has(reference)) continue;
    const snapshot = await pin(em, ownerId, given, shareOf(em, run, given), () => run.owner_id);
    pins.set(reference, { reference, agent_id: snapshot.id, version: snapshot.version, snapshot });
  }
  return [...pins.values()];
}

/** @throws 422 with the code `unknown_agent` or similar, at the reference's pointer */
async function pin(
  em: EntityManager,
  ownerId: string,
  { agent, version, agent_id, pointer = '' }: AgentReference,
  share: Share,
  reader: Reader,
): Promise<PinnedAgent> {
  const result = await pinAgent(em, ownerId, { agent: agent_id ?? agent, version }, share, reader);
  if (result.found) return result.pinned;
  throw invalid([{ pointer, code: result.reason, message: result.message }], result.message, result.reason);
}

/** A retry of a run that is the call of an agent is another call of it. */
export async function copyEntry(em: EntityManager, from: string, to: string): Promise<void> {
  await em.execute(
    `insert into run_pin (run_id, reference, agent_id, version, snapshot)
     select ?::uuid, reference, agent_id, version, snapshot from run_pin where run_id = ? and reference = ?
     on conflict do nothing`,
    [to, from, ENTRY_PIN],
  );
}

/**
 * The pin with which a new run is the call of an agent; null if neither limits nor a budget concern it.
 * `subjects`: those of budgets, besides the agent and the run itself.
 */
export async function entryOf(
  em: EntityManager,
  agent: PinnedAgent,
  subjects: readonly string[],
): Promise<Pin | null> {
  const [row] = await em.execute<{ passes: boolean }[]>(
    `select (select limits is not null from agent where id = ?)
            or exists (select from budget where subject_id = any(?::uuid[])) as passes`,
    [agent.id, arrayLiteral([agent.id, ...subjects])],
  );
  return row?.passes ? entry(agent) : null;
}

export function entry(agent: PinnedAgent): Pin {
  return { reference: ENTRY_PIN, agent_id: agent.id, version: agent.version, snapshot: agent };
}

async function insertPin(
  em: EntityManager,
  runId: string,
  key: string,
  snapshot: PinnedAgent,
): Promise<void> {
  await em.execute(
    `insert into run_pin (run_id, reference, agent_id, version, snapshot)
     values (?, ?, ?, ?, ?::json)
     on conflict do nothing`,
    [runId, key, snapshot.id, snapshot.version, JSON.stringify(snapshot)],
  );
}

/**
 * The pin of a reference. If an expression uses the reference for the first time, it is pinned now (`fresh`).
 * @throws Fault if there is no such agent
 */
export async function pinOf(
  em: EntityManager,
  runId: string,
  reference: AgentReference,
): Promise<{ snapshot: PinnedAgent; fresh: boolean }> {
  const key = pinKey(reference);
  const [row] = await em.execute<{ snapshot: PinnedAgent }[]>(
    `select snapshot from run_pin where run_id = ? and reference = ?`,
    [runId, key],
  );
  if (row) return { snapshot: row.snapshot, fresh: false };
  const [run] = await em.execute<{ rights_of: string; owner_id: string; retry_of: string | null }[]>(
    `select coalesce(w.holder_id, r.owner_id) as rights_of, r.owner_id, r.retry_of
       from run r left join workflow w on w.id = r.workflow_id where r.id = ?`,
    [runId],
  );
  try {
    const share = shareOf(em, { id: runId, retry_of: run?.retry_of }, reference);
    const snapshot = await pin(em, run?.rights_of ?? '', reference, share, () => run?.owner_id ?? '');
    await insertPin(em, runId, key, snapshot);
    return { snapshot, fresh: true };
  } catch (error) {
    if (error instanceof AppError) throw fault('configuration', error.detail);
    throw error;
  }
}

/** SQL: records the agent's use at most once per second, so that concurrent runs do not queue for its row. */
const USED = `used as (
  update agent set last_used = clock_timestamp()
   where id = ? and (last_used is null or last_used < clock_timestamp() - interval '1 second'))`;

/** Records the agent's use. @returns the agent's current status; null if it was deleted */
export async function useAgent(em: EntityManager, agentId: string): Promise<string | null> {
  const [row] = await em.execute<{ status: string }[]>(`with ${USED} select status from agent where id = ?`, [
    agentId,
    agentId,
  ]);
  return row?.status ?? null;
}

/** The status of an agent used with the rights of a user or team, as `Begun.agent_status`. Notes the use. */
export async function statusFor(em: EntityManager, agentId: string, userId: string): Promise<string | null> {
  const [row] = await em.execute<{ status: string; may: boolean }[]>(
    `with ${USED}
     select a.status,
            ${usableBy('a')} or coalesce('admin' = any(u.roles), false) as may
       from agent a left join user_account u on u.id = ? where a.id = ?`,
    [agentId, userId, userId, agentId],
  );
  if (!row) return null;
  return row.may ? row.status : 'invisible';
}
