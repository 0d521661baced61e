-- Trigger of files, once for each statement: keeps what the files of each holder take, in the same
-- transaction. A holder has a few rows, of which each connection uses one, so that statements seldom wait for
-- each other; only their sum says something. In the order of the holders, so that two do not wait crosswise.
create or replace function count_files() returns trigger
language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into file_total as t (holder_id, stripe, bytes, files)
    select holder_id, pg_backend_pid() % 8, sum(size), count(*) filter (where not of_runs)
      from added group by holder_id order by holder_id
    on conflict (holder_id, stripe) do update
      set bytes = t.bytes + excluded.bytes, files = t.files + excluded.files;
  elsif tg_op = 'DELETE' then
    insert into file_total as t (holder_id, stripe, bytes, files)
    select holder_id, pg_backend_pid() % 8, -sum(size), -count(*) filter (where not of_runs)
      from removed group by holder_id order by holder_id
    on conflict (holder_id, stripe) do update
      set bytes = t.bytes + excluded.bytes, files = t.files + excluded.files;
  else
    insert into file_total as t (holder_id, stripe, bytes, files)
    select holder_id, pg_backend_pid() % 8, sum(size), sum(files) from (
             select holder_id, size::bigint as size, (not of_runs)::int as files from added
             union all
             select holder_id, -size::bigint, -(not of_runs)::int from removed) changed
     group by holder_id having sum(size) <> 0 or sum(files) <> 0 order by holder_id
    on conflict (holder_id, stripe) do update
      set bytes = t.bytes + excluded.bytes, files = t.files + excluded.files;
  end if;
  return null;
end $$;
