-- Trigger of users, at the end of the transaction: one active administrator with a password always remains,
-- whichever program or release takes the last one away. The API refuses earlier and in words
-- (domain/auth/local-admins.ts), under the same lock: who waits for it sees what the other has committed.
create or replace function keep_one_administrator() returns trigger
language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('local administrators', 0));
  if not exists (select from user_account
                  where 'admin' = any(roles) and status = 'active' and password_hash is not null) then
    raise exception 'the last active administrator with a password has to stay' using errcode = 'CZA01';
  end if;
  return null;
end $$;
