/**
 * Keeps a process from working on a Temporal that does not have the runs of its database: until the two are
 * known to fit together, each call first waits for that. A run that is not started stays `pending`, as if
 * Temporal were away.
 */
import type { EntityManager } from '../../db/orm.ts';
import { TemporalUnavailable, type TemporalGateway } from '../ports.ts';
import { claimTemporal } from './temporal-identity.ts';

export interface VerifiedTemporal {
  temporal: TemporalGateway;
  /** Compares the namespaces, once for all who ask meanwhile. @throws WrongTemporal, TemporalUnavailable */
  verify: () => Promise<void>;
}

/** These say nothing of runs. */
const ASKED_OF_ANY: ReadonlySet<string | symbol> = new Set(['ping', 'namespaceId']);

export function createVerifiedTemporal(
  gateway: TemporalGateway,
  { fork, acceptNew }: { fork: () => EntityManager; acceptNew: boolean },
): VerifiedTemporal {
  let isVerified = false;
  let verifying: Promise<void> | null = null;
  const compare = async (): Promise<void> => {
    const namespaceId = await gateway.namespaceId().catch((error: unknown) => {
      throw asUnavailable(error);
    });
    await claimTemporal(fork(), namespaceId, { acceptNew });
    isVerified = true;
  };
  const verify = async (): Promise<void> => {
    if (isVerified) return;
    verifying ??= compare().finally(() => (verifying = null));
    await verifying;
  };
  const temporal = new Proxy(gateway, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function' || ASKED_OF_ANY.has(name)) return method;
      return async (...args: unknown[]): Promise<unknown> => {
        if (!isVerified)
          await verify().catch((error: unknown) => {
            throw asUnavailable(error);
          });
        return Reflect.apply(method, target, args);
      };
    },
  });
  return { temporal, verify };
}

function asUnavailable(error: unknown): TemporalUnavailable {
  if (error instanceof TemporalUnavailable) return error;
  const reason = 'Whether Temporal has the runs of this database is not known';
  return new TemporalUnavailable(reason, { cause: error });
}
