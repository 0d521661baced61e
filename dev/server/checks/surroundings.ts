/** Checks of everything else: versions, disk, file store, mail server, issuers. */
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { resolve } from 'node:path';

import { createIdentityProviders } from '../../../adapters/identity/create-identity-providers.ts';
import { mailServerProblem } from '../../../adapters/notify/smtp.ts';
import type { Env } from '../../../config/env.ts';
import { ownServers } from '../../../config/own-servers.ts';
import type { EntityManager } from '../../../db/orm.ts';
import { accessOf, listIssuers } from '../../../domain/identity/issuers.ts';
import { isOwnFileStore } from '../../../domain/files/store-identity.ts';
import type { FileStore } from '../../../domain/files/ports.ts';
import { createEncryption } from '../../../domain/secrets/encryption.ts';
import { ownVersion } from '../backup.ts';
import { error, ok, reasonOf, warn, type Finding } from './finding.ts';

type DiskSettings = Pick<Env, 'DATA_DIR' | 'FILES_DIR' | 'FILES_S3_BUCKET' | 'TEMPORAL_ADDRESS'>;

const NODE = 24;
const GIB = 1024 ** 3;
const [LITTLE_BYTES, NEARLY_NONE_BYTES] = [2 * GIB, GIB / 4];
const MAX_ISSUERS = 50;

export function versionFinding(): Finding {
  const detail = `Cadenza ${ownVersion()}, Node.js ${process.versions.node}`;
  return Number(process.versions.node.split('.')[0]) >= NODE
    ? ok('versions', detail)
    : error('versions', `${detail}. Cadenza needs Node.js ${NODE}: npm ci installs it.`);
}

/** Of the folders that this machine has. DATA_DIR counts where servers of `npm start` keep data in it. */
export async function diskFindings(
  { DATA_DIR, FILES_DIR, FILES_S3_BUCKET, TEMPORAL_ADDRESS }: DiskSettings,
  hasOwnDatabase: boolean,
): Promise<Finding[]> {
  const folders = [
    ...(hasOwnDatabase || TEMPORAL_ADDRESS === undefined ? [DATA_DIR] : []),
    ...(FILES_S3_BUCKET === undefined ? [FILES_DIR] : []),
  ];
  const found: Finding[] = [];
  for (const folder of new Set(folders.map((path) => resolve(path)).filter((path) => existsSync(path)))) {
    const { bavail, bsize } = await statfs(folder);
    found.push(diskFinding(folder, bavail * bsize));
  }
  return found;
}

export function diskFinding(folder: string, freeBytes: number): Finding {
  const detail = `${(freeBytes / GIB).toFixed(1)} GiB free for ${folder}`;
  const todo = 'Free some: PostgreSQL stops when its disk is full.';
  if (freeBytes < NEARLY_NONE_BYTES) return error('disk', `${detail}. ${todo}`);
  return freeBytes < LITTLE_BYTES ? warn('disk', `${detail}. ${todo}`) : ok('disk', detail);
}

export async function filesFinding(em: EntityManager, env: Env, files: FileStore): Promise<Finding> {
  if (!(await files.ping()))
    return error(
      'file store',
      `${files.place} cannot be written to. Check FILES_DIR or FILES_S3_*, and the rights of this user.`,
    );
  if (!env.FILES_LARGE_VALUES || (await isOwnFileStore(em, files))) return ok('file store', files.place);
  return error(
    'file store',
    `${files.place} is not the store of this database. See "Repair the file store" in docs/operations.md.`,
  );
}

export async function mailFindings(env: Env): Promise<Finding[]> {
  if (env.SMTP_HOST === undefined) return [];
  const problem = await mailServerProblem(env);
  const place = `${env.SMTP_HOST}:${env.SMTP_PORT}`;
  return [
    problem === null
      ? ok('mail server', place)
      : error('mail server', `${place}: ${problem}. Check SMTP_*, and that this machine may reach it.`),
  ];
}

export async function issuerFindings(em: EntityManager, env: Env): Promise<Finding[]> {
  const issuers = (await listIssuers(em, { limit: MAX_ISSUERS })).filter(({ enabled }) => enabled);
  if (issuers.length === 0) return [];
  const encryption = createEncryption(env.ENCRYPTION_KEYS);
  const providers = createIdentityProviders({
    allow: env.EGRESS_ALLOW,
    hostMap: env.EGRESS_HOST_MAP,
    own: ownServers(env),
  });
  try {
    return await Promise.all(
      issuers.map(async (issuer) => {
        const check = `issuer ${issuer.name}`;
        try {
          const { keys } = await providers.check(await accessOf(em.fork(), encryption, issuer));
          return ok(check, `${issuer.issuer}, ${keys} keys`);
        } catch (cause) {
          const todo = 'Check its address and EGRESS_ALLOW; local administrators can log in meanwhile.';
          return error(check, `${issuer.issuer}: ${reasonOf(cause)} ${todo}`);
        }
      }),
    );
  } finally {
    await providers.close();
  }
}
