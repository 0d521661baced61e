/** A migrated database whose api and worker have a role of their own, which owns nothing (docs/audit.md). */
import { randomUUID } from 'node:crypto';
import pg from 'pg';

import { grantApplication } from '../../db/grant-application.ts';
import { createTestDatabase } from './servers.ts';

export interface ApplicationRole {
  name: string;
  /** For the role. */
  url: string;
  /** For the owner of the tables. */
  ownerUrl: string;
  drop(): Promise<void>;
}

export async function createApplicationRole(): Promise<ApplicationRole> {
  const database = await createTestDatabase();
  const name = `app_${randomUUID().replaceAll('-', '')}`;
  await execute(database.url, `create role ${name} login password 'of the application'`);
  await grantApplication(database.url, name);
  const url = new URL(database.url);
  url.username = name;
  url.password = encodeURIComponent('of the application');
  const server = new URL(database.url);
  server.pathname = '/postgres';
  return {
    name,
    url: url.href,
    ownerUrl: database.url,
    drop: async () => {
      await database.drop();
      await execute(server.href, `drop role ${name}`);
    },
  };
}

async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
