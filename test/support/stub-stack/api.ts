/**
 * Replaces api/main.ts: seeds the administrator, answers /readyz, shows its settings, notes in the database
 * that it drained.
 */
import { createServer } from 'node:http';
import pg from 'pg';
import { keepIdle } from '../http-server.ts';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 2 });
pool.on('error', () => {});
const { rowCount } = await pool.query('SELECT 1 FROM user_account');
if (rowCount === 0)
  await pool.query('INSERT INTO user_account VALUES ($1)', [process.env['ADMIN_USERNAME'] ?? 'admin']);
const server = createServer(keepIdle, (request, response) => {
  if (request.url === '/settings') return response.end(JSON.stringify(process.env));
  pool.query('SELECT text FROM note ORDER BY at').then(
    ({ rows }) => response.writeHead(200).end(JSON.stringify(rows.map(({ text }: { text: string }) => text))),
    (error: unknown) => response.writeHead(503).end(String(error)),
  );
});
server.listen(Number(process.env['PORT']), process.env['HOST'] ?? '127.0.0.1');
process.on('SIGTERM', () => {
  server.close();
  setTimeout(() => {
    void pool.query("INSERT INTO note (text) VALUES ('api drained')").finally(() => process.exit(0));
  }, 300);
});
