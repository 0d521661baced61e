import { patched } from '@temporalio/workflow';
import { loggedError, type DslError } from '../../contracts/dsl-error.ts';
import type { DslFault } from './fault.ts';

/**
 * What the log has of a fault: each task around it logs it again. How large entries are decides when they are
 * written, so runs that logged a long error before go on with that.
 */
export function loggedFault({ error, message }: DslFault): { error: DslError; message: string } {
  const logged = loggedError(error);
  if (logged === error || !patched('logged-errors')) return { error, message };
  return { error: logged, message: logged.detail ?? logged.title ?? logged.type };
}
