-- Trigger of what belongs to people: nothing is made for an account that was erased, nor given to it. A row
-- that comes while its account is being erased waits at the account's row for the end, and then sees what it
-- has become; an erasure that comes later waits for the row and counts it. The arguments are the column that
-- names the person, and `active` if a disabled account is refused, too: where people make something for
-- themselves. Runs are checked by `admit_run`.
create or replace function refuse_ended_account() returns trigger
language plpgsql set enable_seqscan = off as $$
declare
  person uuid;
  account record;
begin
  -- Only the branch that runs has to fit the table.
  if tg_argv[0] = 'owner_id' then
    person := new.owner_id;
  elsif tg_argv[0] = 'user_id' then
    person := new.user_id;
  elsif tg_argv[0] = 'publisher_id' then
    person := new.publisher_id;
  elsif tg_argv[0] = 'deputy_id' then
    person := new.deputy_id;
  elsif tg_argv[0] = 'claimed_by' then
    person := new.claimed_by;
  elsif tg_argv[0] = 'assignee_key' then
    person := substr(new.assignee_key, length('id:') + 1);
  else
    raise exception 'refuse_ended_account does not know the column %', tg_argv[0];
  end if;
  -- The owner of secrets may be a team.
  select status, erased_at into account from user_account where id = person for key share;
  if found and (account.erased_at is not null or tg_argv[1] = 'active' and account.status <> 'active') then
    raise exception 'the account % has ended', person using errcode = 'CZE01', detail = person::text;
  end if;
  return new;
end $$;
