/**
 * Rejects delivery addresses that egress rules forbid when they are saved, as far as that is known without a
 * DNS lookup.
 */
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

import type { Env } from '../config/env.ts';
import { ownServers } from '../config/own-servers.ts';
import { createDenials } from '../contracts/egress-denied.ts';
import { literalRefusal, parseEgressRules } from '../contracts/egress-rules.ts';
import { invalid } from '../domain/errors.ts';

export interface DeliveryAddresses {
  /**
   * Ignores text that is not a web URL; its form is checked elsewhere. @throws 422 `egress_refused` at `/url`
   */
  check(url: string): Promise<void>;
}

export function createDeliveryAddresses(env: Env): DeliveryAddresses {
  const rules = parseEgressRules({ allow: env.EGRESS_ALLOW, hostMap: env.EGRESS_HOST_MAP });
  const denials = createDenials(
    ownServers(env),
    (hostname) => lookup(hostname, { all: true }),
    networkInterfaces,
  );
  return {
    async check(url) {
      if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return;
      const message = literalRefusal(rules, await denials.current(), new URL(url));
      if (message !== null) throw invalid([{ pointer: '/url', code: 'egress_refused', message }]);
    },
  };
}
