/**
 * Addresses that egress rules forbid, as far as that is known when they are saved, without resolving names:
 * those of deliveries are refused, those of agents get a warning.
 */
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

import type { Env } from '../config/env.ts';
import { ownServers } from '../config/own-servers.ts';
import { createDenials } from '../contracts/egress-denied.ts';
import { literalRefusal, parseEgressRules } from '../contracts/egress-rules.ts';
import { invalid } from '../domain/errors.ts';
import type { RefusalOfAddress } from '../domain/registry/agent-warnings.ts';

export interface CalledAddresses {
  /**
   * Of a delivery. Ignores text that is not a web URL; its form is checked elsewhere.
   * @throws 422 `egress_refused` at `/url`
   */
  checkDelivery(url: string): Promise<void>;
  /** Why calls of agents would be refused, under the installation's addresses of now. */
  refusalsOfAgents(): Promise<RefusalOfAddress>;
}

export function createCalledAddresses(env: Env): CalledAddresses {
  const rules = parseEgressRules({ allow: env.EGRESS_ALLOW, hostMap: env.EGRESS_HOST_MAP });
  const denials = createDenials(
    ownServers(env),
    (hostname) => lookup(hostname, { all: true }),
    networkInterfaces,
  );
  return {
    async checkDelivery(url) {
      if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return;
      const message = literalRefusal(rules, await denials.current(), new URL(url), 'deliveries');
      if (message !== null) throw invalid([{ pointer: '/url', code: 'egress_refused', message }]);
    },
    async refusalsOfAgents() {
      const denial = await denials.current();
      return (url) => literalRefusal(rules, denial, url, 'calls of agents');
    },
  };
}
