import { condition, defineSignal, setHandler, sleep } from '@temporalio/workflow';

export const go = defineSignal('go');

export async function quick(): Promise<string> {
  await sleep(1);
  return 'done';
}

/** Loops in what a condition resumes, which the SDK enters separately. */
export async function endless(): Promise<void> {
  let ready = false;
  setHandler(go, () => {
    ready = true;
  });
  await condition(() => ready);
  for (;;);
}

/** Loops while what another condition has resumed still waits for its turn, and would wait on. */
export async function interrupted(): Promise<void> {
  let ready = false;
  setHandler(go, () => {
    ready = true;
  });
  void (async () => {
    await condition(() => ready);
    await condition(() => false);
  })();
  await condition(() => {
    while (ready);
    return false;
  });
}
