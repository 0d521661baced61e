/** An interpreter that somebody changed without a thought for runs under way: it waits a moment before it begins. */
import { sleep } from '@temporalio/workflow';
import type { Execution } from '../../../workflows/interpreter/execution.ts';
import { interpret as real } from '../../../workflows/interpreter/interpret.ts';

export async function interpret(x: Execution): Promise<unknown> {
  await sleep(1);
  return real(x);
}
