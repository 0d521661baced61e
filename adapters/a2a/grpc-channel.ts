/** Connections to gRPC agents, which go only to addresses that the egress policy has checked. */
import { isIP } from 'node:net';
import { Client, credentials } from '@grpc/grpc-js';
import { fault } from '../../contracts/fault.ts';
import type { EgressPolicy, PinnedOrigin } from '../egress/egress.ts';
import { withoutBrackets } from '../egress/web-url.ts';

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

/** `origin`: scheme (https: TLS), host and port. Throws `Fault` for what the egress policy refuses. */
export async function openChannel(
  origin: string,
  { egress, maxBytes }: { egress: EgressPolicy; maxBytes: number },
): Promise<Client> {
  const { host, hostname } = new URL(origin);
  const pinned = await egress.pin(origin);
  const { secure } = pinned;
  return new Client(targetOf(pinned), secure ? credentials.createSsl() : credentials.createInsecure(), {
    'grpc.default_authority': host,
    // The target is an IP address, so the certificate is checked against the host name given here.
    ...(secure ? { 'grpc.ssl_target_name_override': withoutBrackets(hostname) } : {}),
    'grpc.max_receive_message_length': maxBytes,
    // A proxy or another resolver would bypass the egress policy.
    'grpc.enable_http_proxy': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  });
}

/** The addresses as gRPC's own naming scheme writes them: `ipv4:…` or `ipv6:…`. */
function targetOf({ addresses, family, port }: PinnedOrigin): string {
  const sockets = addresses.map((address) => `${family === 6 ? `[${address}]` : address}:${port}`);
  return `ipv${family}:${sockets.join(',')}`;
}
