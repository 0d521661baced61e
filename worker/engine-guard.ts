/**
 * The guard before a container engine (adapters/sandbox/engine-guard.ts): the only process that needs the
 * engine's socket. It has no other access: no database, no Temporal, no encryption keys.
 */
import { createEngineGuard } from '../adapters/sandbox/engine-guard.ts';
import { loadGuardEnv } from '../config/env.ts';
import { splitPort } from '../config/env-types.ts';
import { createLogger } from '../config/logger.ts';
import { processSettings } from '../config/process-settings.ts';

const env = loadGuardEnv();
const logger = createLogger({ level: env.LOG_LEVEL, name: 'guard' });
const { policy, sandbox } = processSettings(env);
if (sandbox === null) throw new Error('no engine is configured');
const guard = createEngineGuard({
  socketPath: env.socketPath,
  token: env.SANDBOX_TOKEN,
  policy,
  settings: sandbox,
  refused: (what) => logger.warn({ request: what }, 'a request was refused'),
});
const { host, port } = splitPort(env.SANDBOX_GUARD_ADDRESS);
guard.listen(port ?? 2375, host, () => logger.info({ address: env.SANDBOX_GUARD_ADDRESS }, 'guard ready'));
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    guard.close(() => process.exit(0));
    guard.closeAllConnections();
  });
