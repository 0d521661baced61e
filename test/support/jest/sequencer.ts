/**
 * The order of all tests in CI. A new machine does not know how long files take, and a file of minutes that
 * begins last keeps the others waiting: what may take so long comes first.
 */
import { createRequire } from 'node:module';
import type { Test } from '@jest/test-result';

// Its types describe what `require` gives, which is not what an import gives.
const { default: Sequencer } = createRequire(import.meta.url)(
  '@jest/test-sequencer',
) as typeof import('@jest/test-sequencer');

/** With the longest files first. */
const LONG = [
  'test/conformance/schemathesis/',
  'test/engines/containers',
  'test/e2e/console/',
  'test/faults/',
  'test/engines/',
  'test/e2e/cli/',
  'test/e2e/hitl/',
  'test/e2e/',
  'test/integration/api/',
  'test/security/',
  'test/integration/',
  'test/conformance/',
];

class LongestFirst extends Sequencer {
  /** Within a place in Jest's order: by the time that a file took before, else by size. */
  override async sort(tests: Iterable<Test>): Promise<Test[]> {
    const rank = ({ path }: Test): number => {
      const found = LONG.findIndex((place) => path.includes(`/${place}`));
      return found === -1 ? LONG.length : found;
    };
    return (await super.sort([...tests])).toSorted((one, other) => rank(one) - rank(other));
  }
}

export { LongestFirst as 'module.exports' };
