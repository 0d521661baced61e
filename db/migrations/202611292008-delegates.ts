import { Migration } from '@mikro-orm/migrations';

/**
 * How people of a human task came to it who gave or got a vote: `candidate`, by a role, group or team, which
 * counts as long as they have that; `free`, by a delegation alone. Those whom the task names are not in it.
 */
export class Migration202611292008Delegates extends Migration {
  override up(): void {
    this.addSql(`alter table hitl_task add column delegates jsonb not null default '{}'`);
    this.addSql(`
      update hitl_task t
         set delegates = (
               select coalesce(jsonb_object_agg(u.id, 'candidate'), '{}')
                 from user_account u
                where (exists (select from jsonb_each_text(t.delegations) d where d.value = u.id::text)
                       or jsonb_exists(t.delegations, 'id:' || u.id))
                  and not exists (
                    select from jsonb_array_elements_text(t.candidates -> 'users') c
                     where lower(c) in (lower(u.username), u.id::text))
                  and not exists (
                    select from hitl_audit a
                     where a.task_id = t.id and a.action = 'created'
                       and lower(a.data ->> 'assignee') in (lower(u.username), u.id::text)))
       where t.status in ('open', 'claimed') and t.delegations <> '{}' and t.delegate = 'candidates'`);
  }
}
