/**
 * One of several actions in a request, each in its own transaction and with its own result. With an
 * `Idempotency-Key` each result is stored separately, so that an interrupted batch can be repeated.
 */
import { lateFork } from '../db/late-fork.ts';
import type { EntityManager } from '../db/orm.ts';
import type { AuditNote } from '../domain/audit/write.ts';
import { AppError } from '../domain/errors.ts';
import type { KeyedAnswer } from '../domain/hitl/decide-at-once.ts';
import type { AppDeps } from './deps.ts';
import type { EndpointContext } from './endpoint.ts';
import {
  claimKey,
  idempotencyScope,
  keyedAnswer,
  storeAnswer,
  type IdempotencyScope,
} from './middleware/idempotency.ts';
import { inTransaction, unlessRefused, unlessRolledBack } from './transaction.ts';

interface BatchItem {
  /** Names the action within the batch. */
  name: string;
  /** What the client sent for it: a repetition with other content is refused. */
  content: unknown;
  /** What it is in the audit log. */
  audited: Partial<AuditNote>;
}

/**
 * @param act returns what JSON keeps as it is
 * @param atOnce tried first, without a transaction: makes the change and its entry in the audit log in one
 * statement, which keeps the result for the `Idempotency-Key`, if there is one. Null: nothing has changed
 * @returns the refusal as a value. @throws errors that do not concern one item and fail the whole request
 */
export async function actOnOne<T>(
  deps: Pick<AppDeps, 'orm' | 'encryption'>,
  c: EndpointContext,
  { name, content, audited }: BatchItem,
  act: (em: EntityManager) => Promise<T>,
  atOnce?: (em: EntityManager, keep?: (result: T) => Promise<KeyedAnswer>) => Promise<T | null>,
): Promise<T | AppError> {
  const request = idempotencyScope(c.ctx, c.actor, Buffer.from(JSON.stringify(content)), (text) =>
    deps.encryption.fingerprint(text),
  );
  const scope = request && { ...request, path: `${request.path}#${name}` };
  try {
    const done = atOnce ? await tryAtOnce<T>(scope, (keep) => atOnce(lateFork(deps.orm.em), keep)) : null;
    if (done !== null) return done;
    return await inTransaction(
      () => lateFork(deps.orm.em),
      async (em) => {
        const first = scope && (await claimKey(em, scope));
        // Only this function stores responses under this scope.
        if (first) return first.body as T;
        const result = await act(em);
        await c.audit.write(em, audited);
        if (scope) await storeAnswer(em, scope, { status: 200, body: result });
        return result;
      },
    );
  } catch (error) {
    if (
      error instanceof AppError &&
      error.kind !== 'unavailable' &&
      error.code !== 'idempotency_in_progress'
    ) {
      return error;
    }
    throw error;
  }
}

function tryAtOnce<T>(
  scope: IdempotencyScope | null,
  work: (keep?: (result: T) => Promise<KeyedAnswer>) => Promise<T | null>,
): Promise<T | null> {
  if (scope === null) return unlessRolledBack(() => work());
  const keep = async (body: T) => keyedAnswer(scope, { status: 200, body });
  return unlessRolledBack(() => unlessRefused(() => work(keep)));
}
