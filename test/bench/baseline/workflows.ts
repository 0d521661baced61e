/** The same work as a developer would write it by hand, as a baseline of the benchmark. */
import {
  condition,
  defineSignal,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
} from '@temporalio/workflow';

export interface BaselineActivities {
  call(step: number): Promise<unknown>;
}

const { call } = proxyActivities<BaselineActivities>({ startToCloseTimeout: '1m' });
const local = proxyLocalActivities<BaselineActivities>({ startToCloseTimeout: '1m' });
export const decided = defineSignal('decided');

export async function sequence(steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) await call(i);
}

export async function localSequence(steps: number): Promise<void> {
  for (let i = 0; i < steps; i++) await local.call(i);
}

export async function askThenCall(): Promise<void> {
  let ready = false;
  setHandler(decided, () => {
    ready = true;
  });
  await condition(() => ready);
  await call(0);
}
