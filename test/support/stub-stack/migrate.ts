/** Replaces db/migrate.ts in tests of the embedded set-up. */
import pg from 'pg';

const client = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
await client.connect();
await client.query(
  `CREATE TABLE IF NOT EXISTS user_account (username text);
   CREATE TABLE IF NOT EXISTS note (at timestamptz DEFAULT now(), text text)`,
);
await client.end();
