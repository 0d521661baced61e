/** `npm start` with stand-ins for the programs, for tests of the set-up alone. */
import { fileURLToPath } from 'node:url';
import { up } from '../../../dev/up.ts';

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url));
await up({
  migrate: program('migrate.ts'),
  api: program(process.env['STUB_API'] ?? 'api.ts'),
  worker: program('worker.ts'),
  backups: program('worker.ts'),
});
