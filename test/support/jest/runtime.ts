/** Jest's runtime: Node.js itself loads the test files (modules.ts). No mocks of modules, no coverage. */
import { createRequire } from 'node:module';
import { importTestFile } from './modules.ts';

/** What of the environment the object `jest` of `@jest/globals` needs. */
interface Environment {
  moduleMocker: Record<'fn' | 'spyOn' | 'restoreAllMocks', (...args: unknown[]) => unknown>;
  fakeTimersModern: Record<
    'useFakeTimers' | 'useRealTimers' | 'advanceTimersByTime' | 'setSystemTime',
    (...args: unknown[]) => unknown
  >;
}

const require = createRequire(import.meta.url);

class NativeRuntime {
  readonly #environment: Environment;
  #globals: Record<string, unknown> = {};
  /** What the test framework has left at the global object. */
  readonly #left: symbol[] = [];

  constructor(_config: unknown, environment: Environment) {
    this.#environment = environment;
  }

  /** The test framework: each test file has its own copy, with its own state. */
  requireInternalModule(path: string): unknown {
    const before = new Set(Object.getOwnPropertySymbols(globalThis));
    Reflect.deleteProperty(require.cache, path);
    const framework: unknown = require(path);
    this.#left.push(...Object.getOwnPropertySymbols(globalThis).filter((symbol) => !before.has(symbol)));
    return framework;
  }

  setGlobalsForRuntime(globals: Record<string, unknown>): void {
    const { moduleMocker: mocker, fakeTimersModern: timers } = this.#environment;
    const jest = {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
      useFakeTimers: timers.useFakeTimers.bind(timers),
      useRealTimers: timers.useRealTimers.bind(timers),
      advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
      setSystemTime: timers.setSystemTime.bind(timers),
    };
    this.#globals = { ...globals, jest };
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(path: string): Promise<void> {
    await importTestFile(path, this.#globals);
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  enterTestCode(): void {}

  leaveTestCode(): void {}

  getSourceMaps(): null {
    return null;
  }

  getAllCoverageInfoCopy(): undefined {}

  teardown(): void {
    for (const symbol of this.#left) Reflect.deleteProperty(globalThis, symbol);
  }
}

export { NativeRuntime as 'module.exports' };
