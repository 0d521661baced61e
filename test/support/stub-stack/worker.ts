/** Stands for worker/main.ts: reaches Temporal, and notes in the database that it drained. */
import { Connection } from '@temporalio/client';
import pg from 'pg';

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
const timer = setInterval(() => {}, 1_000);
process.stdout.write(`${JSON.stringify({ msg: 'worker stub is up' })}\n`);
process.on('SIGTERM', () => {
  clearInterval(timer);
  const client = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
  void client.connect()
    .then(() => connection.workflowService.getSystemInfo({}))
    .then(() => client.query("INSERT INTO note (text) VALUES ('worker drained')"))
    .finally(() => process.exit(0));
});
