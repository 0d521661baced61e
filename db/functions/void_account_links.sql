-- Trigger of users: links by which a person chooses a password end when the password, the address or the status
-- of the account changes, and when all sessions are ended by a new token_epoch. The mail may have gone to an
-- address that is not the person's any more.
create or replace function void_account_links() returns trigger
language plpgsql set enable_seqscan = off as $$
begin
  new.invited_until := null;
  update account_link set void_at = clock_timestamp()
   where user_id = new.id and used_at is null and void_at is null;
  return new;
end $$;
