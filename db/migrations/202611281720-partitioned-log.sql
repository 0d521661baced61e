-- In the order in which the functions lock them.
lock table run, run_event in access exclusive mode;

-- `last_tx`: the transaction of the run's last event. `execution`: the run's first execution on Temporal, from its
-- log. Runs without a new event since then have neither.
alter table run add column last_tx xid8;
alter table run alter column last_tx set default pg_current_xact_id();
alter table run add column execution text;

alter table run_event rename to run_event_earlier;
alter table run_event_earlier drop constraint run_event_run_id_fkey;
alter table run_event_earlier rename constraint run_event_pkey to run_event_earlier_pkey;
alter table run_event_earlier rename constraint run_event_run_id_key_key to run_event_earlier_run_id_key_key;
alter index run_event_position rename to run_event_earlier_position;
alter sequence run_event_gpos_seq rename to run_event_earlier_gpos_seq;

-- `seq` is the place in the run's own log. (`tx`, `gpos`) is the place in the log of all, behind which no late
-- commit can slip (docs/adr/0004). `key` makes a repeat harmless. A run's id begins with its time.
create table run_event (
  run_id uuid not null,
  seq int not null,
  key text not null,
  type text not null,
  at timestamptz not null,
  level text not null,
  task text,
  message text not null,
  data json not null,
  tx xid8 not null default pg_current_xact_id(),
  gpos bigint generated always as identity,
  primary key (run_id, seq),
  unique (run_id, key)
) partition by range (run_id);
create index run_event_position on run_event (tx, gpos);
select setval('run_event_gpos_seq', nextval('run_event_earlier_gpos_seq'));
alter table run_event_earlier alter column gpos drop identity;
-- The application may have a role of its own.
do $$
declare
  given record;
begin
  for given in
    select a.privilege_type, r.rolname
      from pg_class c cross join aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
     where c.oid = 'run_event_earlier'::regclass and a.grantee <> c.relowner
  loop
    execute format('grant %s on run_event to %s', given.privilege_type,
                   case when given.rolname is null then 'public' else quote_ident(given.rolname) end);
  end loop;
end $$;
alter table run_event attach partition run_event_earlier for values from (minvalue) to (maxvalue);

create trigger run_log after delete on run
  referencing old table as gone for each statement execute function remove_run_log();
