/** Reads `A2A-Version` from the header, else from the query; the default is 0.3. Only major.minor counts. */
import { VersionNotSupportedError } from '@a2a-js/sdk/errors';
import type { Context } from 'koa';

import type { WireVersion } from '../../contracts/a2a/objects.ts';

const VERSIONS: readonly WireVersion[] = ['1.0', '0.3'];

/** The requested version, or null if none was sent, which means 0.3. @throws VersionNotSupportedError */
export function requestedVersion(ctx: Context): WireVersion | null {
  return readVersion(ctx.get('a2a-version') || queryVersion(ctx));
}

export function readVersion(text: string): WireVersion | null {
  if (text.trim() === '') return null;
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.\d+)*(?:[-+].*)?$/.exec(text.trim()) ?? [];
  const found = VERSIONS.find((version) => version === `${major}.${minor}`);
  if (!found)
    throw new VersionNotSupportedError(
      `A2A ${text.slice(0, 40)} is not supported; ${VERSIONS.join(' and ')} are.`,
    );
  return found;
}

function queryVersion(ctx: Context): string {
  const [, value] = Object.entries(ctx.query).find(([name]) => name.toLowerCase() === 'a2a-version') ?? [];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
