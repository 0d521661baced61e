-- The hash of a note of removed entries of the audit log, which holds that of the note before and that of the
-- last seal whose entries were removed. `domain/audit/removals.ts` computes the same.
create or replace function hash_audit_removal(removal audit_removal) returns bytea
language sql stable set search_path from current as $$
  select sha256(removal.previous_hash || removal.seal_hash || convert_to(
    concat_ws('|', removal.no, removal.first_seal, removal.last_seal, removal.days,
              to_char(removal.removed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), 'UTF8'))
$$;
