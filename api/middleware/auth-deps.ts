import type { AppDeps } from '../deps.ts';
import type { AuthDeps } from './auth.ts';

/** What the APIs of other standards know their callers by. */
export function authDeps(deps: AppDeps): AuthDeps {
  const { keys, env, orm, addressLimit, knownCallers, knownWorkers } = deps;
  return { keys, issuer: env.BASE_URL, fork: () => orm.em.fork(), addressLimit, knownCallers, knownWorkers };
}
