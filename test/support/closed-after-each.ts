import { afterEach } from '@jest/globals';

interface Closable {
  close(): Promise<void>;
}

/** Returns its argument, and closes it after the test. */
export function closedAfterEach(): <T extends Closable>(resource: T) => T {
  const open: Closable[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  });
  return (resource) => {
    open.push(resource);
    return resource;
  };
}
