-- Trigger of accounts and of what opens them: notes what the person has to be told, whoever made the change and
-- by which door. Workers write the mails. No secret is in a note.
create or replace function note_account_change() returns trigger
language plpgsql set enable_seqscan = off as $$
declare
  person uuid;
  notes jsonb := '[]';
begin
  -- Only the branch that runs has to fit the table.
  if tg_table_name = 'user_account' then
    person := new.id;
    if new.password_hash is distinct from old.password_hash then
      notes := notes || jsonb_build_object('kind', 'password_changed', 'change',
        case when new.password_hash is null then 'switched off'
             when old.password_hash is null then 'set' else 'changed' end);
    end if;
    if new.email is distinct from old.email then
      notes := notes || jsonb_build_object('kind', 'email_changed', 'former', old.email, 'email', new.email);
    end if;
    if not new.roles <@ old.roles then
      notes := notes || jsonb_build_object('kind', 'roles_changed', 'roles', array_to_string(
        array(select unnest(new.roles) except select unnest(old.roles) order by 1), ', '));
    end if;
  elsif tg_table_name = 'user_totp' then
    person := coalesce(new.user_id, old.user_id);
    notes := jsonb_build_array(jsonb_build_object('kind', 'factor_changed', 'factor', 'authenticator app',
      'change', case tg_op when 'DELETE' then 'removed' else 'added' end));
  elsif tg_table_name = 'passkey' then
    person := coalesce(new.user_id, old.user_id);
    notes := jsonb_build_array(jsonb_build_object('kind', 'factor_changed',
      'factor', 'passkey ' || coalesce(new.name, old.name),
      'change', case tg_op when 'DELETE' then 'removed' else 'added' end));
  else
    person := new.user_id;
    notes := jsonb_build_array(jsonb_build_object('kind', 'credential_made', 'credential',
      case tg_table_name when 'access_token' then 'access token ' else 'machine client ' end || new.name));
  end if;
  insert into account_notice (user_id, data) select person, value from jsonb_array_elements(notes);
  if notes <> '[]' then
    perform pg_notify('notice', '');
  end if;
  return null;
end $$;
