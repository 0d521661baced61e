/** Serves agent cards: below each agent, and at the host's root for the configured default agent. */
import { createHash } from 'node:crypto';
import { AgentCard } from '@a2a-js/sdk';
import type { Context } from 'koa';

import type { A2AAgent } from '../../domain/a2a/agent.ts';
import type { AppDeps } from '../deps.ts';
import { buildCard, signedCard, unionCard } from './card.ts';
import { requestedVersion } from './version.ts';

const MAX_AGE_SECONDS = 60;
const CACHED_CARDS = 500;

/** Signed cards by ETag. Every signing gives a different signature, so each API process caches its own. */
export type SignedCards = Map<string, unknown>;

export async function sendCard(
  ctx: Context,
  deps: AppDeps,
  target: A2AAgent,
  signed: SignedCards,
): Promise<void> {
  const version = requestedVersion(ctx);
  const card = buildCard(deps, target);
  const plain = version === '1.0' ? AgentCard.toJSON(card) : unionCard(deps, target);
  const tag = `W/"${createHash('sha256').update(JSON.stringify(plain)).digest('base64url').slice(0, 27)}"`;
  const modified = new Date(target.agent.updated_at);
  modified.setUTCMilliseconds(0);
  const cacheScope =
    target.agent.visibility === 'public' && deps.env.PUBLIC_AGENT_CARDS ? 'public' : 'private';
  ctx.set('Vary', 'A2A-Version');
  ctx.set('ETag', tag);
  ctx.set('Last-Modified', modified.toUTCString());
  ctx.set('Cache-Control', `${cacheScope}, max-age=${MAX_AGE_SECONDS}`);
  ctx.status = 200;
  if (isUnmodified(ctx, tag, modified)) {
    ctx.status = 304;
    return;
  }
  const body = version === '1.0' ? (signed.get(tag) ?? (await signedCard(deps, card))) : plain;
  if (version === '1.0') {
    if (signed.size >= CACHED_CARDS) signed.clear();
    signed.set(tag, body);
  }
  ctx.body = JSON.stringify(body);
  ctx.set('Content-Type', 'application/json');
}

/**
 * Whether the client's copy is current. RFC 9110 section 13.1: `If-None-Match` overrides `If-Modified-Since`.
 */
function isUnmodified(ctx: Context, tag: string, modified: Date): boolean {
  const tags = ctx.get('if-none-match');
  if (tags !== '')
    return (
      tags.trim() === '*' ||
      tags.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === tag.replace(/^W\//, ''))
    );
  const since = Date.parse(ctx.get('if-modified-since'));
  return !Number.isNaN(since) && modified.getTime() <= since;
}
