-- The oldest transaction that may still write to this database; if there is none, the next one. All before it
-- are visible to the statement that calls this. A snapshot names the open transactions of all databases of the
-- server; those that certainly belong to another one are left out. They are known where the role may see the
-- sessions of the other database's users (`pg_read_all_stats`, or its own).
create or replace function oldest_open_transaction() returns xid8
language sql stable as $$
  select coalesce(
    (select open.tx
       from pg_snapshot_xip(pg_current_snapshot()) as open(tx)
      where not exists (
              select from pg_stat_activity other
               where other.datname <> current_database()
                 -- A session shows the lower 32 bits.
                 and other.backend_xid::text::bigint = open.tx::text::bigint & 4294967295)
      order by open.tx limit 1),
    pg_snapshot_xmax(pg_current_snapshot()))
$$;
