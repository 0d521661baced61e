import { afterEach } from '@jest/globals';

interface Closable {
  close(): Promise<void>;
}

/** Gives back what it is given, and closes it after the test. */
export function closedAfterEach(): <T extends Closable>(one: T) => T {
  const open: Closable[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });
  return (one) => {
    open.push(one);
    return one;
  };
}
