/** Reads what other platforms offer as agents, and tries counterparts, under the egress policy (ADR 46). */
import { agentKind } from '../../contracts/agent-configuration.ts';
import { fault } from '../../contracts/fault.ts';
import { splitModelTexts } from '../../contracts/model-texts.ts';
import { placeholderNames } from '../../contracts/placeholders.ts';
import type { SourceKind } from '../../contracts/source-kinds.ts';
import type { AgentCall, AgentSources, SourceOffer } from '../../domain/ports.ts';
import { agentCredentials } from '../authentication/agent-authentication.ts';
import { createTokenSource } from '../authentication/oauth-token.ts';
import { createEgressPolicy, type EgressPolicyOptions } from '../egress/create-egress-policy.ts';
import { hostOf } from '../egress/connection-fault.ts';
import { guardedAgent } from '../guarded-agent.ts';
import { checkCounterpart } from './check-counterpart.ts';
import { a2aOffers } from './offers-a2a.ts';
import { langgraphOffers } from './offers-langgraph.ts';
import { mcpOffers } from './offers-mcp.ts';
import { openApiOffers } from './offers-openapi.ts';
import type { SourceCall } from './source-call.ts';

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_SHOWN = 200;

const OFFERS: Record<
  SourceKind,
  (call: SourceCall, select: readonly string[] | null, outputs: boolean) => Promise<SourceOffer[]>
> = {
  a2a: a2aOffers,
  openapi: openApiOffers,
  mcp: mcpOffers,
  langgraph: langgraphOffers,
};

/** Settings as in EGRESS_ALLOW and EGRESS_HOST_MAP. */
export function createAgentSources(settings: EgressPolicyOptions): AgentSources {
  const egress = createEgressPolicy(settings);
  const tokens = createTokenSource(egress);
  const guarded = async <T>(
    request: Pick<AgentCall, 'agent' | 'secret' | 'timeoutMs' | 'signal'>,
    url: string,
    work: (call: SourceCall) => Promise<T>,
  ): Promise<T> => {
    const { agent } = request;
    const call = { ...request, input: null, idempotencyKey: '' };
    const { settings, texts } = splitModelTexts(agentKind(agent), agent.configuration);
    const stored = [settings, agent.url, agent.authentication_config, url];
    const { output } = await guardedAgent(call, { timeout: undefined, stored, texts }, async (guard) => {
      const limits = { agent, signal: guard.signal, timeoutMs: guard.leftMs() };
      const credentials = await agentCredentials(limits, guard.sensitive, tokens);
      return {
        output: await work(
          sourceCall({ agent, url: guard.sensitive.fill(url), egress, tokens, guard, credentials }),
        ),
      };
    });
    // The assertion holds: redaction copies and keeps the shape.
    return output as T;
  };
  return {
    read: ({ from, url, select, outputs, ...request }) =>
      guarded(request, url, async (call) => checkedOffers(await OFFERS[from](call, select, outputs))),
    check: ({ kind, ...request }) =>
      guarded(request, request.agent.url ?? '', (call) => checkCounterpart(kind, call)),
    close: () => egress.close(),
  };
}

/** @throws Fault if a call of an offered agent would send the source a secret that the source has chosen */
function checkedOffers(offers: SourceOffer[]): SourceOffer[] {
  for (const { select, fields } of offers) {
    const name = [...placeholderNames([fields.configuration, fields.url])].at(0);
    if (name !== undefined)
      throw fault(
        'configuration',
        `${select.slice(0, MAX_SHOWN)} contains <${name}>, which would stand for a secret of yours`,
      );
  }
  return offers;
}

function sourceCall(given: Omit<SourceCall, 'send' | 'json'>): SourceCall {
  const { egress, guard, credentials } = given;
  const send: SourceCall['send'] = (url, { method = 'GET', body, headers = {}, bare = false } = {}) =>
    egress.request({
      url: bare ? url : credentials.withQuery(url),
      method,
      headers: {
        accept: 'application/json, */*;q=0.5',
        'user-agent': 'Cadenza',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bare ? {} : credentials.headers),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      maxBytes: MAX_BYTES,
      timeoutMs: guard.leftMs(),
      signal: guard.signal,
    });
  return {
    ...given,
    send,
    async json(url, more) {
      const { status, bytes } = await send(url, more);
      if (status !== 200)
        throw fault('communication', `${hostOf(url)} answered ${status}`, {
          status: status >= 400 ? status : 502,
        });
      try {
        return JSON.parse(Buffer.from(bytes).toString()) as unknown;
      } catch {
        throw fault('communication', `${hostOf(url)} did not answer with JSON`, { status: 502 });
      }
    },
  };
}
