/**
 * Chooses the version of an agent that a reference means. Drafts are work in progress: a draft is chosen only
 * for an agent without published versions, or if its owner or an admin names it.
 */
import { compareBuild, maxSatisfying, validRange } from 'semver';

import type { AgentVersionStatus } from '../../db/entities/agent-version.ts';

/** Selects the draft; used in place of a semantic version or a range. */
export const DRAFT = 'draft';

export interface VersionState {
  version: string;
  status: AgentVersionStatus;
}

export type VersionRefusal = 'unknown_version' | 'draft_forbidden';
export type ChosenVersion = VersionState | VersionRefusal;

export interface ChoosingFrom {
  /** The agent's current version; it exists. */
  current: string;
  versions: readonly VersionState[];
  /** The user with whose rights it is chosen is the agent's owner or an admin. */
  mayUseDrafts: boolean;
  /** The version that gets a share of the calls, and whether this one belongs to the share. */
  canary?: { version: string; takes: boolean } | undefined;
}

/**
 * `wanted` undefined: the highest published version, else the highest deprecated one, else the current draft.
 * A published canary gets its share of these calls, and the others go as if it were not published.
 * `draft`: the current version if it is a draft, else the highest draft. A range matches published versions
 * first, then deprecated ones.
 */
export function chooseVersion(wanted: string | undefined, from: ChoosingFrom): ChosenVersion {
  const { current, versions, mayUseDrafts, canary } = from;
  const ofStatus = (status: AgentVersionStatus): VersionState[] =>
    versions.filter((each) => each.status === status);
  const neverPublished = versions.every(({ status }) => status === 'draft');
  if (wanted === undefined) {
    const published = ofStatus('published');
    const trial = published.find(({ version }) => version === canary?.version);
    if (trial && canary?.takes === true) return trial;
    const served =
      highest(published.filter((each) => each !== trial)) ?? trial ?? highest(ofStatus('deprecated'));
    return served ?? versions.find(({ version }) => version === current) ?? 'unknown_version';
  }
  if (wanted === DRAFT) {
    if (!mayUseDrafts) return 'draft_forbidden';
    const drafts = ofStatus('draft');
    return drafts.find(({ version }) => version === current) ?? highest(drafts) ?? 'unknown_version';
  }
  const exact = versions.find(({ version }) => version === wanted);
  if (exact) return exact.status !== 'draft' || neverPublished || mayUseDrafts ? exact : 'draft_forbidden';
  if (validRange(wanted) === null) return 'unknown_version';
  for (const status of ['published', 'deprecated', 'draft'] as const) {
    if (status === 'draft' && !neverPublished) break;
    const candidates = ofStatus(status);
    const best = maxSatisfying(
      candidates.map(({ version }) => version),
      wanted,
    );
    const found = candidates.find(({ version }) => version === best);
    if (found) return found;
  }
  return 'unknown_version';
}

/** The highest published version; null if there is none. */
export function publishedVersion(versions: readonly VersionState[]): string | null {
  return highest(versions.filter(({ status }) => status === 'published'))?.version ?? null;
}

function highest(versions: readonly VersionState[]): VersionState | null {
  return versions.toSorted((a, b) => compareBuild(a.version, b.version)).at(-1) ?? null;
}

/** Explains to a person why no version was chosen. */
export function describeRefusal(refusal: VersionRefusal, agent: string, wanted: string | undefined): string {
  if (refusal === 'draft_forbidden')
    return (
      `Only the owner of agent ${JSON.stringify(agent)} and admins may use its drafts: ` +
      'name a published version.'
    );
  if (wanted === DRAFT) return `Agent ${JSON.stringify(agent)} has no draft.`;
  const condition = wanted === undefined ? ' that is published or deprecated' : '';
  return `Agent ${JSON.stringify(agent)} has no version ${JSON.stringify(wanted)}${condition}.`;
}

/**
 * SQL: the version of `agent a` that a reference without a version means, of a call outside of the canary's
 * share; the same as `chooseVersion(undefined, …)`.
 */
export const SERVED_VERSION = `coalesce(
  (select p.version from agent_version p
    where p.agent_id = a.id and p.status = 'published'
      and not exists (select from agent_canary k where k.agent_id = a.id and k.version = p.version)
    order by p.precedence desc limit 1),
  (select p.version from agent_version p
    where p.agent_id = a.id and p.status = 'published' order by p.precedence desc limit 1),
  (select d.version from agent_version d
    where d.agent_id = a.id and d.status = 'deprecated' order by d.precedence desc limit 1),
  a.version)`;
