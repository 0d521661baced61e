import { Migration } from '@mikro-orm/migrations';

/** `begin_invocation` of 0009, which now also tells that an agent is not visible any more to whose rights count. */
export class Migration0013InvisibleAgents extends Migration {
  override up(): void {
    this.addSql(`
create or replace function begin_invocation(p_run uuid, p_events json, p_projection jsonb, p_acks uuid[], p_signal uuid,
                                 p_key text, p_pin text, p_task text, p_visit int) returns json
language plpgsql as $$
declare
  appended jsonb;
  claimed_before boolean;
  earlier_result json;
  earlier_error json;
  pinned_agent uuid;
  pinned_version text;
  pinned_snapshot json;
  agent_status text;
begin
  appended := append_run_events(p_run, p_events, p_projection, p_acks, p_signal);
  if (appended ->> 'closed')::boolean then
    return appended::json;
  end if;
  insert into invocation (run_id, key) values (p_run, p_key) on conflict do nothing;
  claimed_before := not found;
  if claimed_before then
    select i.result, i.error into earlier_result, earlier_error from invocation i where i.run_id = p_run and i.key = p_key;
  end if;
  if p_pin is not null then
    select p.agent_id, p.version, p.snapshot into pinned_agent, pinned_version, pinned_snapshot
      from run_pin p where p.run_id = p_run and p.reference = p_pin;
    if found then
      update run_task set agent_id = pinned_agent, agent_version = pinned_version
       where run_id = p_run and reference = p_task and visit = p_visit;
      -- Status and visibility are read live: whose rights count is the workflow's owner, else who runs it.
      select case when a.visibility = 'public' or u.id = a.owner_id or 'admin' = any(u.roles) then a.status else 'invisible' end into agent_status
        from agent a, run r left join workflow w on w.id = r.workflow_id join user_account u on u.id = coalesce(w.owner_id, r.owner_id)
       where a.id = pinned_agent and r.id = p_run;
      -- Once a second at most, so that runs do not queue for one row.
      update agent set last_used = clock_timestamp()
       where id = pinned_agent and (last_used is null or last_used < clock_timestamp() - interval '1 second');
    end if;
  end if;
  -- json, not jsonb: keys of users' data keep their order.
  return json_build_object('closed', false, 'signalled', appended -> 'signalled', 'claimed_before', claimed_before,
                           'result', earlier_result, 'error', earlier_error, 'snapshot', pinned_snapshot, 'agent_status', agent_status);
end $$;
`);
  }
}
