import { Migration } from '@mikro-orm/migrations';

/** What an issuer calls the people who log in by it, so that its provisioning (SCIM) finds their accounts. */
export class Migration202611290150IssuedNames extends Migration {
  override up(): void {
    this.addSql(`
      alter table user_identity
        -- In small letters: usernames and verified e-mail addresses of the last log-in.
        add column issued_names text[] not null default '{}',
        -- Identifiers of the last log-in that never change, as <claim>=<value>.
        add column issued_ids text[] not null default '{}'`);
    // Earlier log-ins left the subject, and as the label the username.
    this.addSql(`
      update user_identity
         set issued_ids = array['sub=' || subject],
             issued_names = case when label is null then '{}' else array[lower(label)] end
       where subject is not null`);
    // One name leads to one account: that of the newest log-in.
    this.addSql(`
      update user_identity i set issued_names = '{}'
       where exists (select 1 from user_identity o
                      where o.issuer_id = i.issuer_id and o.id <> i.id and o.issued_names = i.issued_names
                        and (coalesce(o.last_log_in_at, o.created_at), o.id)
                              > (coalesce(i.last_log_in_at, i.created_at), i.id))
         and i.issued_names <> '{}'`);
    this.addSql('create index user_identity_issued on user_identity using gin (issued_names, issued_ids)');
  }
}
