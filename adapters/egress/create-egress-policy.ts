import { lookup as systemLookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { createDenials, type OwnServers } from '../../contracts/egress-denied.ts';
import { parseEgressRules, type EgressSettings } from '../../contracts/egress-rules.ts';
import { CheckedAgents } from './checked-agents.ts';
import type { EgressPolicy, EgressRequest, HostLookup } from './egress.ts';
import { beginExchange } from './exchange.ts';
import { pinOrigin } from './pin-origin.ts';
import { readAnswer } from './read-answer.ts';
import { followRedirects } from './redirects.ts';
import { passOn } from './response-body.ts';
import { sendRequest } from './send-request.ts';
import { webUrl } from './web-url.ts';

export interface EgressPolicyOptions extends EgressSettings {
  /** Servers that are refused whatever the settings allow. Default: none. */
  own?: OwnServers;
  /** Replaces DNS in tests. */
  lookup?: HostLookup;
}

/** Settings as in EGRESS_ALLOW and EGRESS_HOST_MAP; throws an Error for an invalid one. */
export function createEgressPolicy(settings: EgressPolicyOptions = {}): EgressPolicy {
  const rules = parseEgressRules(settings);
  const lookup = settings.lookup ?? ((hostname: string) => systemLookup(hostname, { all: true }));
  const denials = createDenials(settings.own ?? { servers: [], api: [] }, lookup, networkInterfaces);
  const guard = { rules, denials, lookup };
  const agents = new CheckedAgents(guard);
  const follow = (request: EgressRequest, signal: AbortSignal) =>
    followRedirects(request, (url, hop) => sendRequest({ rules, agents }, url, hop, signal));

  return {
    async request(request) {
      const exchange = beginExchange(request);
      try {
        return await readAnswer(await follow(request, exchange.signal), request, exchange);
      } catch (error) {
        throw exchange.failureOf(error);
      }
    },
    async stream(request) {
      const exchange = beginExchange(request);
      try {
        const headers = { ...request.headers, 'accept-encoding': 'identity' };
        const answer = await follow({ ...request, headers }, exchange.signal);
        return {
          status: answer.status,
          headers: answer.headers,
          url: answer.url,
          chunks: passOn(answer.body, exchange.failureOf),
        };
      } catch (error) {
        throw exchange.failureOf(error);
      }
    },
    pin: async (origin) => pinOrigin(guard, webUrl(origin)),
    close: () => agents.close(),
  };
}
