/** Rights of the role of api and worker, if another one than that of `migrate` (docs/audit.md). */
import pg from 'pg';

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
