/** Replaces worker/main.ts: polls Temporal, and notes in the database that it drained. */
import { hostname } from 'node:os';
import pg from 'pg';
import { createTemporalClient } from '../../../temporal/client.ts';

const namespace = process.env['TEMPORAL_NAMESPACE'] ?? 'default';
const { connection } = createTemporalClient({ address: process.env['TEMPORAL_ADDRESS'] ?? '', namespace });
const queue = {
  namespace,
  taskQueue: { name: process.env['TEMPORAL_TASK_QUEUE'] ?? 'cadenza' },
  identity: `${process.pid}@${hostname()}`,
};
const poll = async (): Promise<void> => {
  await Promise.all([
    connection.workflowService.pollWorkflowTaskQueue(queue),
    connection.workflowService.pollActivityTaskQueue(queue),
  ]);
};
// Temporal requires a deadline; one observed poll is enough.
void connection.withDeadline(Date.now() + 60_000, poll).catch(() => {});
const timer = setInterval(() => {}, 1_000);
process.stdout.write(`${JSON.stringify({ msg: 'worker stub is up' })}\n`);
process.on('SIGTERM', () => {
  clearInterval(timer);
  const client = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
  void client
    .connect()
    .then(() => connection.workflowService.getSystemInfo({}))
    .then(() => client.query("INSERT INTO note (text) VALUES ('worker drained')"))
    .finally(() => process.exit(0));
});
