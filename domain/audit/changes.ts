/** Which values of a change the audit log may show. */
import { isRecord } from '../../contracts/is-record.ts';
import type { FieldChange } from '../../db/entity-changes.ts';
import type { AuditChange, AuditData } from './write.ts';

/** Fields whose values say what was changed without saying what is inside. */
const HARMLESS: ReadonlySet<string> = new Set([
  'action',
  'active',
  'archived_at',
  'decision',
  'enabled',
  'expires_at',
  'groups',
  'name',
  'owner_id',
  'percent',
  'priority',
  'quotas',
  'role',
  'roles',
  'scopes',
  'status',
  'team_id',
  'to',
  'type',
  'version',
  'visibility',
]);
const MAX_TEXT = 200;
const MAX_ITEMS = 20;
const MAX_CHANGES = 50;

type Changes = Record<string, AuditChange>;

/** The new values of harmless fields in a request's body. */
function harmlessChanges(body: unknown): Changes {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return {};
  return Object.fromEntries(
    Object.entries(body).flatMap(([name, value]) =>
      HARMLESS.has(name) && value !== undefined ? [[name, { new: shown(value) }]] : [],
    ),
  );
}

/** The fields that a request changed: harmless ones with their values, the others by their names. */
export function changesOf(body: unknown, rows: readonly FieldChange[]): Pick<AuditData, 'changes'> {
  const inRows = rows.map(({ field, old, new: next }): [string, AuditChange] => [
    field,
    HARMLESS.has(field) ? { old: shown(readable(field, old)), new: shown(readable(field, next)) } : {},
  ]);
  const all = Object.entries({ ...harmlessChanges(body), ...Object.fromEntries(inRows) });
  return all.length === 0 ? {} : { changes: Object.fromEntries(all.slice(0, MAX_CHANGES)) };
}

/** The ORM compares JSON as text. */
function readable(field: string, value: unknown): unknown {
  return field === 'quotas' && typeof value === 'string' ? JSON.parse(value) : value;
}

function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT);
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => shown(item));
  if (isRecord(value)) return amountsIn(value);
  return undefined;
}

/** The numbers of an object by their names, such as quotas. */
function amountsIn(value: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(value).filter(([, amount]) => typeof amount === 'number' || amount === null);
  return Object.fromEntries(entries.slice(0, MAX_ITEMS));
}
