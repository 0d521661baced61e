/** Connections to gRPC servers, which go only to addresses that the egress policy has checked. */
import { Client, credentials } from '@grpc/grpc-js';
import type { EgressPolicy, PinnedOrigin } from '../egress/egress.ts';
import { withoutBrackets } from '../egress/web-url.ts';

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
