/** `cadenza server doctor`: checks an installation from the server's machine, with its own settings. */
import { readNamespaceId } from '../../domain/operations/temporal-identity.ts';
import { runningTemporal } from '../temporal.ts';
import { readAnnounced } from '../instance.ts';
import { databaseFindings } from './checks/database.ts';
import { checked, error, warn, type Finding } from './checks/finding.ts';
import { portFindings, type ApiAddresses } from './checks/ports.ts';
import { sealedFinding } from './checks/sealed.ts';
import {
  diskFindings,
  filesFinding,
  issuerFindings,
  mailFindings,
  versionFinding,
} from './checks/surroundings.ts';
import { temporalFindings } from './checks/temporal.ts';
import { withInstallation, type Installation } from './installation.ts';

/** @throws ServerCommandError if there is no installation */
export function diagnose(): Promise<Finding[]> {
  return withInstallation('running', diagnoseOpened);
}

export async function diagnoseOpened({ env, fork, files, dataDir }: Installation): Promise<Finding[]> {
  const temporal = async (): Promise<Finding[]> => {
    const address = env.TEMPORAL_ADDRESS ?? (dataDir === null ? null : await runningTemporal(dataDir));
    if (address !== null) return temporalFindings(env, address, await readNamespaceId(fork()));
    return dataDir === null
      ? [error('temporal', 'TEMPORAL_ADDRESS is not set. Set it as for api and worker.')]
      : [warn('temporal', 'does not run. Start everything with npm start.')];
  };
  const groups = await Promise.all([
    checked('postgresql', 'Check DATABASE_URL, and that the server runs.', () =>
      databaseFindings(fork(), env),
    ),
    checked('encrypted values', 'Check the database first.', async () => [await sealedFinding(fork(), env)]),
    checked('temporal', 'Check TEMPORAL_ADDRESS and TEMPORAL_TLS, and that the server runs.', temporal),
    checked('file store', 'Check FILES_DIR or FILES_S3_*.', async () => [
      await filesFinding(fork(), env, files),
    ]),
    checked('disk', 'Check DATA_DIR and FILES_DIR.', () => diskFindings(env, dataDir !== null)),
    checked('mail server', 'Check SMTP_*.', () => mailFindings(env)),
    checked('issuers', 'Check the database first.', () => issuerFindings(fork(), env)),
    checked('api', 'See its log.', () => portFindings(env, apiAddresses(env, dataDir))),
  ]);
  return [versionFinding(), ...groups.flat()];
}

/** Where this machine reaches the api: BASE_URL may be a proxy, and copies elsewhere. */
function apiAddresses(
  { HOST, PORT, BASE_URL, OPENID_BACKCHANNEL_URL: beside }: Installation['env'],
  dataDir: string | null,
): ApiAddresses {
  const announced = dataDir === null ? null : readAnnounced(dataDir);
  if (announced !== null) return { urls: [announced], elsewhere: null, isExpected: true };
  const host = HOST === '0.0.0.0' || HOST === '::' ? 'localhost' : HOST;
  const here = `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`;
  return {
    urls: [...(beside === undefined ? [] : [beside]), ...(PORT === 0 ? [] : [here])],
    elsewhere: BASE_URL,
    isExpected: dataDir === null,
  };
}
