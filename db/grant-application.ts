/** Rights of the role of api and worker, if another one than that of `migrate` (docs/audit.md). */
import pg from 'pg';

type Query = <Row extends object>(sql: string, values?: unknown[]) => Promise<{ rows: Row[] }>;

/** The roles that have these rights: those that may also add rows to tables that are made later. */
export async function applicationRoles(query: Query): Promise<string[]> {
  const { rows } = await query<{ name: string }>(
    `select distinct r.rolname as name
       from pg_default_acl d, aclexplode(d.defaclacl) a join pg_roles r on r.oid = a.grantee
      where d.defaclnamespace = current_schema()::regnamespace and d.defaclrole = current_user::regrole
        and d.defaclobjtype = 'r' and a.privilege_type = 'INSERT'
        and not pg_has_role(r.oid, d.defaclrole, 'MEMBER')
      order by name`,
  );
  return rows.map(({ name }) => name);
}

/** Gives them the rights on what a migration has added or changed. */
export async function grantAgain(query: Query): Promise<void> {
  for (const role of await applicationRoles(query)) await query('select grant_application($1)', [role]);
}

/** @throws if there is no such role, or if it has the rights of the owner */
export async function grantApplication(url: string, role: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, application_name: 'cadenza-migrate' });
  await client.connect();
  try {
    await client.query('select grant_application($1)', [role]);
  } finally {
    await client.end();
  }
}
