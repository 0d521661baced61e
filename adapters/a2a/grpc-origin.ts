import { isIP } from 'node:net';
import { fault } from '../../contracts/fault.ts';

const MAX_SHOWN_URL_LENGTH = 200;

/**
 * The origin of a gRPC interface: `https://…`, `http://…`, `grpcs://…`, `grpc://…`, or a bare `host:port`,
 * which uses TLS on port 443 or if its card was fetched with TLS. Throws `Fault` for anything else.
 */
export function grpcOrigin(url: string, cardOverTls: boolean): string {
  const [, scheme = '', rest = ''] =
    /^(?:(https?|grpcs?):\/\/|dns:(?:\/\/[^/]*\/)?)?(.*)$/i.exec(url.trim()) ?? [];
  const [authority = ''] = rest.split(/[/?#]/);
  const secure = scheme === '' ? cardOverTls || authority.endsWith(':443') : /s$/i.test(scheme);
  const origin = `${secure ? 'https' : 'http'}://${isIP(authority) === 6 ? `[${authority}]` : authority}`;
  if (authority === '' || authority.includes('@') || !URL.canParse(origin)) {
    const shown = url.length > MAX_SHOWN_URL_LENGTH ? 'something long' : `"${url}"`;
    throw fault('configuration', `The card names ${shown} for gRPC, which is not an address`);
  }
  return new URL(origin).origin;
}
