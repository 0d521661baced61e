-- Trigger of what decides who a caller is and what the caller may do: tells every api, which keep it for a
-- moment.
create or replace function notify_account_change() returns trigger
language plpgsql as $$
begin
  perform pg_notify('account_change', '');
  return null;
end $$;
