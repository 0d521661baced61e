/** Permissions on workflows (`domain/auth/ownership.ts`), and who may start them. */
import { arrayLiteral } from '../../db/sql.ts';
import { isAdmin, type Actor } from '../auth/actor.ts';
import { acting, holdersOf, mayUse, type Condition, type Owned } from '../auth/ownership.ts';
import { principalsOf } from '../hitl/principals.ts';

export {
  mayChange as mayChangeWorkflow,
  mayPublish as mayPublishWorkflow,
  maySee as maySeeWorkflow,
  type Owned as Ownership,
} from '../auth/ownership.ts';

/** The word of everybody. */
export const EVERYONE = 'everyone';

/** How the actor may start a workflow: as a builder, as one of its runners, or not at all. */
export function startRight(
  actor: Actor,
  workflow: Owned & { runner_keys: readonly string[] },
): 'builder' | 'runner' | null {
  if (mayUse(acting(actor, 'builder'), workflow)) return 'builder';
  const own = new Set(runnerWords(actor));
  return workflow.runner_keys.some((key) => own.has(key)) ? 'runner' : null;
}

/** What names the actor among the runners of workflows. */
function runnerWords(actor: Actor): string[] {
  if (actor.roles.length === 0 || actor.awaitsSecondFactor === true) return [];
  return [...principalsOf(actor), EVERYONE];
}

/** SQL: the actor is among the runners of the workflow `w`. */
export function grantedTo(actor: Actor): Condition {
  return { sql: 'w.runner_keys && ?::text[]', values: [arrayLiteral(runnerWords(actor))] };
}

/** SQL of `startRight` for the workflow `w`. */
export function startableBy(actor: Actor): Condition {
  if (isAdmin(actor)) return { sql: 'true', values: [] };
  const { teamsOnly = false } = acting(actor, 'builder');
  const held = holdersOf(actor, 'builder').filter((id) => !teamsOnly || id !== actor.id);
  return {
    sql: `(w.holder_id = any(?::uuid[]) or ?::boolean and w.visibility = 'public'
           or w.runner_keys && ?::text[])`,
    values: [arrayLiteral(held), !teamsOnly, arrayLiteral(runnerWords(actor))],
  };
}
