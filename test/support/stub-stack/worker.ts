/** Stands for worker/main.ts: asks Temporal for work, and notes in the database that it drained. */
import { hostname } from 'node:os';
import { Connection } from '@temporalio/client';
import pg from 'pg';

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '' });
const queue = { namespace: process.env['TEMPORAL_NAMESPACE'] ?? 'default', taskQueue: { name: process.env['TEMPORAL_TASK_QUEUE'] ?? 'cadenza' }, identity: `${process.pid}@${hostname()}` };
const poll = async (): Promise<void> => {
  await Promise.all([connection.workflowService.pollWorkflowTaskQueue(queue), connection.workflowService.pollActivityTaskQueue(queue)]);
};
// Temporal wants a deadline; seeing one poll is enough.
void connection.withDeadline(Date.now() + 60_000, poll).catch(() => {});
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
