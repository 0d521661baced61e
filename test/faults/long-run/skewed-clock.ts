/**
 * Preloaded into api and worker (`node --import`): shifts `Date` by the milliseconds in the file that
 * FAULTS_CLOCK names, as they are now. Monotonic clocks and timers stay, as on a machine whose clock is set.
 */
import { readFileSync, watchFile } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LOOK_MS = 200;
const path = process.env['FAULTS_CLOCK'];
let skewMs = 0;

if (isMainThread && path !== undefined) {
  const read = (): void => {
    skewMs = Number(readFileSync(path, 'utf8')) || 0;
  };
  read();
  watchFile(path, { interval: LOOK_MS, persistent: false }, read);
  const RealDate = Date;
  const now = (): number => RealDate.now() + skewMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, newTarget) =>
      // The type of what a constructor makes is that of its class.
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as object,
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
  });
}
