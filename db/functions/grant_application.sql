-- Gives a role what api and worker need, on tables that are there and on those of later migrations. Of the
-- audit log it may add entries, but not with a number or a time of its own, and seals; `prune_audit` alone
-- removes entries for it. For the owner of the tables to call, after each migration (docs/audit.md).
create or replace function grant_application(application name) returns void
language plpgsql set search_path from current set enable_seqscan = off as $$
declare
  place name := current_schema();
  owner oid := (select c.relowner from pg_class c where c.oid = 'audit_entry'::regclass);
begin
  -- A superuser counts as a member of every role.
  if pg_has_role(application, owner, 'MEMBER') then
    raise exception 'the role % has the rights of the owner of the tables', application
      using errcode = 'invalid_grant_operation';
  end if;
  execute format('grant usage on schema %I to %I', place, application);
  execute format('grant select, insert, update, delete on all tables in schema %I to %I', place, application);
  execute format('grant usage on all sequences in schema %I to %I', place, application);
  execute format('alter default privileges in schema %I grant select, insert, update, delete on tables to %I',
                 place, application);
  execute format('alter default privileges in schema %I grant usage on sequences to %I', place, application);
  execute format('revoke insert, update, delete, truncate, references, trigger on
                    audit_entry, audit_seal, audit_removal, hitl_audit, schema_migration, schema_function
                  from public, %I', application);
  execute format('grant insert (actor_id, actor_name, action, outcome, object_type, object_id, credential,
                    credential_id, via, door, address, user_agent, request_id, data) on audit_entry to %I',
                 application);
  execute format('grant insert on audit_seal to %I', application);
  execute format('grant insert, update (actor_name, data) on hitl_audit to %I', application);
  execute 'revoke execute on function prune_audit(int, bigint, int), drop_log_partition(text),
             make_log_partition(text, uuid, uuid, int) from public';
  execute format('grant execute on function prune_audit(int, bigint, int), drop_log_partition(text),
                    make_log_partition(text, uuid, uuid, int) to %I', application);
end
$$;
