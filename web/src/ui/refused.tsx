import type { OperationId } from '../../../client/index.ts';
import { roleFor } from '../data/rights.ts';
import { words } from './words.ts';

/** Says which role a part of the console needs. */
export function Refused({ operation }: { operation: OperationId }) {
  return <p class="muted">{words.needs(roleFor(operation) ?? '')}</p>;
}
