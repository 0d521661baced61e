/**
 * An interpreter with a change that breaks running workflows: it waits a moment before it begins.
 */
import { sleep } from '@temporalio/workflow';
import type { Execution } from '../../../workflows/interpreter/execution.ts';
import { interpret as real } from '../../../workflows/interpreter/interpret.ts';

export async function interpret(execution: Execution): Promise<unknown> {
  await sleep(1);
  return real(execution);
}
