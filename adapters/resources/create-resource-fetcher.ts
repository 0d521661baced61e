/** Fetches what definitions take from elsewhere, under the egress policy (docs/adr/0034). */
import { createHash } from 'node:crypto';
import { fault } from '../../contracts/fault.ts';
import type { ResourceFetcher } from '../../domain/ports.ts';
import { dslCredentials } from '../authentication/dsl-authentication.ts';
import { readYaml } from '../../language/yaml/read-yaml.ts';
import { createTokenSource } from '../authentication/oauth-token.ts';
import { withoutSecrets } from '../call-settings.ts';
import { createEgressPolicy, type EgressPolicyOptions } from '../egress/create-egress-policy.ts';
import { createSensitive } from '../secrets/sensitive.ts';

/** Parsing YAML takes a few hundred times as long as JSON, so this also limits the time. */
const MAX_RESOURCE_BYTES = 256 * 1024;

/** Settings as in EGRESS_ALLOW and EGRESS_HOST_MAP. */
export function createResourceFetcher(settings: EgressPolicyOptions): ResourceFetcher {
  const egress = createEgressPolicy(settings);
  const tokens = createTokenSource(egress);
  return {
    async fetch({ url, authentication, secret, timeoutMs, signal }) {
      const sensitive = createSensitive();
      const limits = { timeoutMs, signal };
      try {
        const call = { with: {}, idempotencyKey: '', ...limits, secret };
        const credentials = await dslCredentials(authentication, call, { egress, tokens, sensitive, limits });
        const request = {
          url,
          method: 'GET',
          headers: { accept: 'application/yaml, application/json;q=0.9, */*;q=0.8', 'user-agent': 'Cadenza' },
          maxBytes: MAX_RESOURCE_BYTES,
          ...limits,
        };
        const send = (more: Record<string, string>) =>
          egress.request({ ...request, headers: { ...request.headers, ...more } });
        const first = await send(credentials.headers);
        const again = first.status === 401 ? credentials.challenged(first, request) : null;
        const { status, bytes } = again === null ? first : await send(again);
        if (status !== 200)
          throw fault('communication', `it answered ${status}`, { status: status >= 400 ? status : 502 });
        const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
        return { document: parsed(bytes), digest, bytes: bytes.length };
      } catch (error) {
        throw withoutSecrets(error, sensitive);
      }
    },
    close: () => egress.close(),
  };
}

/** JSON, or YAML 1.2 with its core schema. */
function parsed(bytes: Uint8Array): unknown {
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = /^\s*[[{]/.test(text) ? JSON.parse(text) : readYaml(text).value;
    // Aliases could make one value of a few bytes huge, and anchors a value that contains itself.
    if (JSON.stringify(value).length > 4 * MAX_RESOURCE_BYTES) throw new Error('too large');
  } catch {
    throw fault('configuration', 'it is neither JSON nor YAML, or too large once its aliases are resolved');
  }
  return JSON.parse(JSON.stringify(value));
}
