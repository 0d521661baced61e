/**
 * Jest's environment of a test file: the process itself. Jest's own gives each file a context with copies of
 * all globals, for which all modules have to be loaded and compiled again. What a file changes of the process
 * is put back after it.
 */
import { ModernFakeTimers } from '@jest/fake-timers';
import { context, diag, propagation, trace } from '@opentelemetry/api';
import { ModuleMocker } from 'jest-mock';

type ProjectConfig = ConstructorParameters<typeof ModernFakeTimers>[0]['config'];

class ProcessEnvironment {
  /** What Jest sets for the test file. */
  readonly global: { console?: Console } = {};
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly #before = { console: globalThis.console, env: { ...process.env } };

  constructor({ projectConfig }: { projectConfig: ProjectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup(): Promise<void> {
    globalThis.console = this.global.console ?? globalThis.console;
    // Node.js keeps the lines of what it strips types from: there is nothing to map.
    Reflect.deleteProperty(Error, 'prepareStackTrace');
  }

  async teardown(): Promise<void> {
    const { console, env } = this.#before;
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    for (const api of [context, diag, propagation, trace]) api.disable();
    globalThis.console = console;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext(): null {
    return null;
  }
}

export { ProcessEnvironment as 'module.exports' };
