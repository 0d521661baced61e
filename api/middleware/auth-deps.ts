import { lateFork } from '../../db/late-fork.ts';
import { callerOfMachine } from '../../domain/identity/machines.ts';
import type { AppDeps } from '../deps.ts';
import type { AuthDeps } from './auth.ts';

/** What the APIs of other standards know their callers by. */
export function authDeps(deps: AppDeps): AuthDeps {
  const { keys, env, orm, addressLimit, knownCallers, knownWorkers, verifiedTokens } = deps;
  const { encryption, identities } = deps;
  const fork = () => lateFork(orm.em);
  const machine = (token: string) => callerOfMachine({ fork, encryption, identities }, token);
  return {
    keys,
    issuer: env.BASE_URL,
    fork,
    machine,
    addressLimit,
    knownCallers,
    knownWorkers,
    verifiedTokens,
  };
}
