/** `A2A-Version`: header, else query, else 0.3; only major.minor counts. */
import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import type { Context } from 'koa';

import type { WireVersion } from '../../domain/a2a/push-configs.ts';

export const VERSIONS: readonly WireVersion[] = ['1.0', '0.3'];

/** Null: nothing was said, which means 0.3. @throws VersionNotSupportedError */
export function requestedVersion(ctx: Context): WireVersion | null {
  return readVersion(ctx.get('a2a-version') || queryVersion(ctx));
}

export function readVersion(said: string): WireVersion | null {
  if (said.trim() === '') return null;
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.\d+)*(?:[-+].*)?$/.exec(said.trim()) ?? [];
  const found = VERSIONS.find((version) => version === `${major}.${minor}`);
  if (!found) throw new VersionNotSupportedError(`A2A ${said.slice(0, 40)} is not served; ${VERSIONS.join(' and ')} are.`);
  return found;
}

function queryVersion(ctx: Context): string {
  const [, value] = Object.entries(ctx.query).find(([name]) => name.toLowerCase() === 'a2a-version') ?? [];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
