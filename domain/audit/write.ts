/** Writes entries of the audit log, in the transaction of what they are about (docs/audit.md). */
import { Prepared } from '../../db/prepared.ts';
import type { EntityManager } from '../../db/orm.ts';
import { storableJson, storableText } from '../storable.ts';

export const OUTCOMES = ['done', 'refused', 'failed'] as const;
export type AuditOutcome = (typeof OUTCOMES)[number];

/** How the caller has shown who it is. */
export const CREDENTIALS = ['session', 'token', 'client', 'worker', 'none'] as const;
export type AuditCredential = (typeof CREDENTIALS)[number];

/** By which interface the caller came. */
export const VIAS = ['api', 'a2a', 'mcp', 'openai', 'scim', 'system'] as const;
export type AuditVia = (typeof VIAS)[number];

/** Who asks, and from where: the same for all entries of a request. */
export interface AuditOrigin {
  actorId: string | null;
  actorName: string | null;
  credential: AuditCredential;
  /** Of the session, access token, machine client or worker's token. */
  credentialId: string | null;
  via: AuditVia;
  address: string | null;
  userAgent: string | null;
  requestId: string | null;
}

export interface AuditChange {
  old?: unknown;
  new?: unknown;
}

export interface AuditNote {
  action: string;
  /** Default: the caller. */
  actor?: { id: string; name: string | null };
  outcome?: AuditOutcome;
  objectType?: string | null;
  objectId?: string | null;
  data?: AuditData;
}

/** What is known of a change. Values are those of harmless fields only. */
export interface AuditData {
  /** Names of the fields that the request has. */
  fields?: string[];
  changes?: Record<string, AuditChange>;
  /** Parts of the object that the path names, such as a version. */
  part?: Record<string, string>;
  /** Why it was refused: the error's code. */
  code?: string;
  /**
   * The team that holds the object. The database finds it (`audit_teams`), unless the object is gone by
   * then.
   */
  team_id?: string;
  /** The team to which the object moves. */
  to_team_id?: string;
  [key: string]: unknown;
}

/** The system's own doing, such as the removal of old entries. */
export const SYSTEM_ORIGIN: AuditOrigin = {
  actorId: null,
  actorName: null,
  credential: 'none',
  credentialId: null,
  via: 'system',
  address: null,
  userAgent: null,
  requestId: null,
};

const MAX_TEXT = 300;
const MAX_DATA = 8_000;

/** All but the id, the time and `data`. */
export const AUDIT_COLUMNS = [
  'actor_id',
  'actor_name',
  'action',
  'outcome',
  'object_type',
  'object_id',
  'credential',
  'credential_id',
  'via',
  'address',
  'user_agent',
  'request_id',
] as const;
const COLUMNS = [...AUDIT_COLUMNS, 'data'] as const;

const INSERT = new Prepared(
  `insert into audit_entry (${COLUMNS.join(', ')})
   values (${COLUMNS.map((name) => (name === 'data' ? '?::jsonb' : '?')).join(', ')})`,
);

export async function writeAudit(em: EntityManager, origin: AuditOrigin, note: AuditNote): Promise<void> {
  await INSERT.execute(em, valuesOf(origin, note));
}

/** As the last statement of its transaction: commits it too (`Prepared.executeAndCommit`). */
export async function writeLastAudit(em: EntityManager, origin: AuditOrigin, note: AuditNote): Promise<void> {
  await INSERT.executeAndCommit(em, valuesOf(origin, note));
}

function valuesOf(origin: AuditOrigin, note: AuditNote): (string | null)[] {
  const entry = auditEntry(origin, note);
  return COLUMNS.map((name) => entry[name]);
}

/** The columns of an entry, `data` as the text of its JSON, for a statement that writes other rows too. */
export function auditEntry(
  origin: AuditOrigin,
  note: AuditNote,
): Record<(typeof COLUMNS)[number], string | null> {
  const actor = note.actor ?? { id: origin.actorId, name: origin.actorName };
  return {
    actor_id: actor.id,
    // Entries cannot be changed, so they name people by their ids; readers see the present names.
    actor_name: actor.id === null ? short(actor.name) : null,
    action: note.action,
    outcome: note.outcome ?? 'done',
    object_type: note.objectType ?? null,
    object_id: short(note.objectId ?? null),
    credential: origin.credential,
    credential_id: short(origin.credentialId),
    via: origin.via,
    address: short(origin.address),
    user_agent: short(origin.userAgent),
    request_id: short(origin.requestId),
    data: dataText(note.data ?? {}),
  };
}

function short(text: string | null): string | null {
  return text === null ? null : storableText(text.slice(0, MAX_TEXT));
}

function dataText(data: AuditData): string {
  const text = storableJson(data);
  return text.length <= MAX_DATA ? text : storableJson(truncated(data));
}

/** What decides who reads the entry stays. */
function truncated({ fields, changes, team_id: team, to_team_id: goal }: AuditData): AuditData {
  const move = changes?.['team_id'];
  return {
    truncated: true,
    ...(fields && { fields }),
    ...(move && { changes: { team_id: move } }),
    ...(team !== undefined && { team_id: team }),
    ...(goal !== undefined && { to_team_id: goal }),
  };
}

/** Of an object that is gone when its entry is written. */
export function heldBy(team: string | null | undefined): { data: AuditData } {
  return { data: team ? { team_id: team } : {} };
}
