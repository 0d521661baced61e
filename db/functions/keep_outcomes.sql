-- Stores the outcomes of calls that have ended, each beside its key. The first outcome of a key stays. One
-- with a `claim` (all but those of a release before) is stored if no later attempt has claimed the key since:
-- then Temporal waits for that attempt, and may have its outcome. The result is false if an outcome is
-- `required` and the key does not have it: then two workers have made the call, and the run must go on with
-- what the later one stores (docs/adr/0030).
create or replace function keep_outcomes(p_run uuid, p_outcomes json) returns boolean
language plpgsql set enable_seqscan = off as $$
declare
  outcome json;
  stored text;
begin
  for outcome in select json_array_elements(p_outcomes) loop
    update invocation
       set finished_at = clock_timestamp(), result = outcome -> 'result', error = outcome -> 'error',
           agent_id = (outcome ->> 'agent_id')::uuid, agent_version = outcome ->> 'agent_version'
     where run_id = p_run and key = outcome ->> 'key' and finished_at is null
       and claims = coalesce((outcome ->> 'claim')::int, claims);
    if not found and (outcome ->> 'required')::boolean then
      select coalesce(i.result, i.error)::text into stored
        from invocation i where i.run_id = p_run and i.key = outcome ->> 'key';
      if stored is distinct from coalesce(outcome -> 'result', outcome -> 'error')::text then
        return false;
      end if;
    end if;
  end loop;
  return true;
end $$;
