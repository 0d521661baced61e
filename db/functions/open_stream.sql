-- Notes an open stream of a copy of the API, if the user and the address may have another one; 0 is no limit.
-- Streams of all copies count whose time has not run out. Who counts holds the quota until the commit, the
-- user's before that of the address, so the limits are exact. No row: the stream is open; otherwise who has
-- too many, and the limit.
create or replace function open_stream(
  p_copy uuid, p_lease interval, p_stream uuid, p_user uuid, p_address text, p_of_user bigint,
  p_of_address bigint
) returns table (scope text, most bigint, own boolean)
language plpgsql set enable_seqscan = off as $$
declare
  v_own bigint := quota_of(p_user, 'streams');
  v_of_user bigint := coalesce(v_own, p_of_user);
begin
  if v_of_user > 0 then
    perform pg_advisory_xact_lock(hashtextextended('quota streams ' || p_user, 0));
    if (select count(*) from (
          select from open_stream s join api_copy c on c.id = s.copy_id
           where s.user_id = p_user and c.expires_at > clock_timestamp() limit v_of_user) counted) >= v_of_user
    then
      return query select 'user', v_of_user, v_own is not null;
      return;
    end if;
  end if;
  if p_of_address > 0 then
    perform pg_advisory_xact_lock(hashtextextended('streams of address ' || p_address, 0));
    if (select count(*) from (
          select from open_stream s join api_copy c on c.id = s.copy_id
           where s.address = p_address and c.expires_at > clock_timestamp()
           limit p_of_address) counted) >= p_of_address
    then
      return query select 'address', p_of_address, false;
      return;
    end if;
  end if;
  -- Seldom, so that the streams of a copy do not wait for its row.
  if not exists (select from api_copy where id = p_copy and expires_at > clock_timestamp()) then
    insert into api_copy as c (id, expires_at) values (p_copy, clock_timestamp() + p_lease)
    on conflict (id) do update set expires_at = excluded.expires_at;
  end if;
  insert into open_stream (id, copy_id, user_id, address) values (p_stream, p_copy, p_user, p_address);
end $$;
