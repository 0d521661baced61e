/**
 * Fetches the functions and schemas that a definition takes from elsewhere, before it is saved. Outside of
 * transactions: a slow counterpart must not hold a connection or a lock.
 */
import { fault, Fault } from '../../contracts/fault.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { own } from '../../language/definition/problems.ts';
import type { Resource, ResourceReference } from '../../language/definition/resources.ts';
import { validateDefinition, type Problem } from '../../language/definition/validate.ts';
import { ExpressionError, template } from '../../language/expressions/index.ts';
import { requestBudget, type ExpressionBudget } from '../../language/expression-budget.ts';
import { inParallel } from '../in-parallel.ts';
import { unmeasured, type Measure } from '../measure.ts';
import type { ResourceFetcher } from '../ports.ts';
import { storable } from '../storable.ts';

/** What was fetched for one definition, and what could not be fetched. */
export interface FetchedResources {
  resources: Resource[];
  problems: Problem[];
}

interface Source {
  fetcher: ResourceFetcher;
  /**
   * A secret of the workflow's owner, for the authentication of a catalog. Null: nothing is saved, so no
   * secret is sent, and what needs one is not fetched.
   */
  secret: ((name: string) => Promise<string | null>) | null;
}

interface FetchLimits {
  /** Addresses. */
  resources: number;
  bytes: number;
  timeMs: number;
}
/** For one definition; one resource has at most 256 KiB. */
const OF_DEFINITION: FetchLimits = { resources: 20, bytes: 20 * 256 * 1024, timeMs: 10_000 };
/** For all definitions of a set. Their content is held in memory until the set is stored. */
const OF_SET: FetchLimits = { resources: 200, bytes: 16 * 1024 * 1024, timeMs: 30_000 };
const AT_ONCE = 4;
/** A function that is fetched may itself call functions. */
const MAX_ROUNDS = 4;

type Fetched = Awaited<ReturnType<ResourceFetcher['fetch']>>;

/** Fetches for the definitions of one request: each address once, within limits on count, bytes and time. */
export class ResourceSession {
  readonly #source: Source;
  readonly #limits: FetchLimits;
  readonly #deadline: number;
  #bytes = 0;
  readonly #fetched = new Map<string, Promise<Fetched>>();

  constructor(source: Source, { ofSet = false } = {}) {
    this.#source = source;
    this.#limits = ofSet ? OF_SET : OF_DEFINITION;
    this.#deadline = Date.now() + this.#limits.timeMs;
  }

  /**
   * `before`: the resources of the revision that is replaced. A source that is unavailable now keeps its
   * content, with a warning; one that has changed is taken anew, with a warning. Checks count by `measure`.
   */
  async fetchFor(
    definition: Record<string, unknown>,
    name: string,
    before: () => Promise<readonly Resource[]> = async () => [],
    measure: Measure = unmeasured,
  ): Promise<FetchedResources> {
    const resources: Resource[] = [];
    const problems: Problem[] = [];
    if (!measure(() => mentionsResources(definition))) return { resources, problems };
    const former = await before();
    const failed = new Set<string>();
    const addresses = new Set<string>();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { references } = measure(() => validateDefinition(definition, { name, resources }));
      const missing = references.resources.filter((reference) => !failed.has(keyOf(reference)));
      if (missing.length === 0) break;
      await inParallel(missing, AT_ONCE, async (reference) => {
        if (this.#source.secret === null && mayReadSecrets(policyOf(reference, definition))) {
          failed.add(keyOf(reference));
          problems.push(unfetchedProblem(reference));
          return;
        }
        const old = former.find((resource) => keyOf(resource) === keyOf(reference));
        try {
          if (addresses.add(reference.url).size > OF_DEFINITION.resources)
            throw fault('configuration', tooMany('a definition takes', OF_DEFINITION));
          const fetched = await this.#fetch(reference, definition);
          const { kind, url, pointer } = reference;
          const document = storable(fetched.document);
          resources.push({ kind, name: reference.name, url, pointer, ...fetched, document });
          if (old !== undefined && old.digest !== fetched.digest)
            problems.push(changedProblem(reference, old, fetched.digest));
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          failed.add(keyOf(reference));
          // What came from another address does not stand for this one.
          const kept = old?.url === reference.url && this.#holds(old.bytes) ? old : undefined;
          if (kept !== undefined) resources.push({ ...kept, pointer: reference.pointer });
          problems.push(failedProblem(reference, error, kept));
        }
      });
    }
    // Parallel requests end in any order; equal definitions have equal records.
    resources.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    problems.sort((a, b) => (a.pointer < b.pointer ? -1 : 1));
    return { resources, problems };
  }

  #fetch(reference: ResourceReference, definition: Record<string, unknown>): Promise<Fetched> {
    const authentication = policyOf(reference, definition);
    const key = JSON.stringify([reference.url, authentication ?? null]);
    const known = this.#fetched.get(key);
    if (known !== undefined) return known;
    const fetching = this.#fetchOnce(reference, authentication, declaredSecrets(definition));
    this.#fetched.set(key, fetching);
    return fetching;
  }

  async #fetchOnce(
    { url }: ResourceReference,
    authentication: unknown,
    declared: readonly string[],
  ): Promise<Fetched> {
    const { resources, bytes, timeMs } = this.#limits;
    if (this.#fetched.size >= resources)
      throw fault('configuration', tooMany('a request fetches', this.#limits));
    if (!this.#holds(0))
      throw fault('configuration', `what a request fetches has at most ${bytes} bytes in all`);
    const timeoutMs = this.#deadline - Date.now();
    if (timeoutMs <= 0) throw fault('timeout', `what was fetched before it took ${timeMs / 1000} s`);
    const secret = async (name: string): Promise<string | null> =>
      declared.includes(name) ? ((await this.#source.secret?.(name)) ?? null) : null;
    const fetched = await this.#source.fetcher.fetch({
      url,
      authentication: await evaluated(authentication, declared, secret),
      secret,
      timeoutMs,
      signal: new AbortController().signal,
    });
    this.#bytes += fetched.bytes;
    return fetched;
  }

  /** Whether there is room, which is taken then. */
  #holds(bytes: number): boolean {
    if (this.#bytes + bytes >= this.#limits.bytes) return false;
    this.#bytes += bytes;
    return true;
  }
}

const tooMany = (who: string, { resources }: FetchLimits): string =>
  `${who} at most ${resources} functions and schemas`;

function keyOf({ kind, name }: { kind: string; name: string }): string {
  return `${kind} ${name}`;
}

/** A cheap look, so that a definition without resources is not checked twice. */
function mentionsResources(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(mentionsResources);
  if (!isRecord(value)) return false;
  const { call, resource } = value;
  if (resource !== undefined || (typeof call === 'string' && /:\/\/|@/.test(call))) return true;
  return Object.values(value).some(mentionsResources);
}

function policyOf({ authentication }: ResourceReference, definition: Record<string, unknown>): unknown {
  const name = own(authentication, 'use');
  if (typeof name !== 'string') return authentication;
  return own(own(own(definition, 'use'), 'authentications'), name);
}

/** Whether a policy may read secrets: by any expression, or by `use` in its scheme. */
function mayReadSecrets(policy: unknown): boolean {
  if (JSON.stringify(policy ?? null).includes('${')) return true;
  return isRecord(policy) && Object.values(policy).some((scheme) => own(scheme, 'use') !== undefined);
}

function declaredSecrets(definition: Record<string, unknown>): string[] {
  const secrets = own(own(definition, 'use'), 'secrets');
  return Array.isArray(secrets) ? secrets.filter((name) => typeof name === 'string') : [];
}

/** A policy with its expressions evaluated; they can read secrets only. */
async function evaluated(
  policy: unknown,
  declared: readonly string[],
  secret: (name: string) => Promise<string | null>,
): Promise<unknown> {
  if (!JSON.stringify(policy ?? null).includes('${')) return policy;
  const secrets: Record<string, unknown> = {};
  for (const name of declared) secrets[name] = secretValue(await secret(name));
  const budget = requestBudget();
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return value.includes('${') ? evaluate(value, secrets, budget) : value;
    if (Array.isArray(value)) return value.map(walk);
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return walk(policy);
}

/** As in calls: a secret that is a JSON object is an object for expressions. */
function secretValue(value: string | null): unknown {
  try {
    const json: unknown = JSON.parse(value ?? '');
    return isRecord(json) ? json : value;
  } catch {
    return value;
  }
}

function evaluate(text: string, secrets: Record<string, unknown>, budget: ExpressionBudget): unknown {
  try {
    return template(text, { mode: 'strict' }).first(null, {
      ...budget.options,
      variables: { secrets },
      clock: () => new Date(),
    });
  } catch (error) {
    if (error instanceof ExpressionError && error.kind === 'limit')
      throw fault('expression', 'an expression of its authentication takes too long');
    // The message could quote a secret.
    throw fault('expression', 'an expression of its authentication failed: it can read $secrets only');
  }
}

function changedProblem({ pointer, url }: ResourceReference, old: Resource, digest: string): Problem {
  return {
    pointer,
    code: 'resource_changed',
    message: `${url} has changed since the last revision: ${short(old.digest)} is now ${short(digest)}`,
    severity: 'warning',
  };
}

function unfetchedProblem({ pointer, url }: ResourceReference): Problem {
  const message =
    `${url} was not fetched, because its authentication reads a secret: ` +
    'it is fetched and checked when the definition is saved';
  return { pointer, code: 'resource_not_checked', message, severity: 'warning' };
}

function failedProblem(
  { pointer, url }: ResourceReference,
  error: Fault,
  old: Resource | undefined,
): Problem {
  const message = `${url} cannot be fetched: ${error.message}`;
  if (old === undefined) return { pointer, code: 'resource_refused', message, severity: 'error' };
  return {
    pointer,
    code: 'resource_not_refreshed',
    message: `${message}; this revision keeps the content of the last one, ${short(old.digest)}`,
    severity: 'warning',
  };
}

/** Enough to compare by eye. */
function short(digest: string): string {
  return digest.slice(0, 'sha256:'.length + 12);
}

/** Codes of problems that say what has changed since the last revision, not what the definition is. */
export const REFRESH_CODES: readonly string[] = ['resource_changed', 'resource_not_refreshed'];
