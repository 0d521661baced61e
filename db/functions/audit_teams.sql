-- Trigger of the audit log: notes in `data` the team that holds the object of an entry (`team_id`), and the
-- one to which it moves (`to_team_id`). Seals hash `data`, so nobody changes either unseen. A trigger, so that
-- every writer notes the same: functions, and copies of the release before.
-- An entry follows its change. An object that has moved is with its new team by then, so `changes` tells the
-- former one; who deletes an object has noted its team.
create or replace function audit_teams() returns trigger
language plpgsql set search_path from current set enable_seqscan = off as $$
declare
  move jsonb := new.data #> '{changes,team_id}';
  object uuid;
  team text := new.data ->> 'team_id';
  goal text := coalesce(new.data ->> 'to_team_id', move ->> 'new');
begin
  -- Entries that are copied from elsewhere stay as they were sealed.
  if new.tx <> pg_current_xact_id() then
    return new;
  end if;
  if new.object_id ~ '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' then
    object := new.object_id::uuid;
  end if;
  if move ? 'old' then
    team := coalesce(team, move ->> 'old');
  elsif team is null and object is not null then
    case new.object_type
      when 'agent' then
        team := (select o.team_id from agent o where o.id = object);
      when 'workflow' then
        team := (select o.team_id from workflow o where o.id = object);
      when 'run' then
        team := (select o.team_id from run o where o.id = object);
      when 'human_task' then
        team := (select o.team_id from hitl_task o where o.id = object);
      when 'job' then
        team := (select r.team_id from job o join run r on r.id = o.run_id where o.id = object);
      when 'file' then
        team := (select o.team_id from file o where o.id = object);
      when 'webhook' then
        team := (select o.team_id from delivery_target o where o.id = object);
      when 'hook' then
        team := (select o.team_id from inbound_hook o where o.id = object);
      when 'event_source' then
        team := (select o.team_id from event_source o where o.id = object);
      when 'notification' then
        team := (select o.team_id from notification_channel o where o.id = object);
      when 'evaluation' then
        team := (select a.team_id from evaluation o join agent a on a.id = o.agent_id where o.id = object);
      when 'budget' then
        team := coalesce((select o.team_id from run o where o.id = object),
                         (select o.team_id from workflow o where o.id = object),
                         (select o.team_id from agent o where o.id = object));
      when 'team' then
        team := (select o.id from team o where o.id = object);
      else null;
    end case;
  end if;
  new.data := new.data || jsonb_strip_nulls(
    jsonb_build_object('team_id', team, 'to_team_id', nullif(goal, team)));
  return new;
end
$$;
