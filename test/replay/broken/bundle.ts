/** The workflow bundle with broken/interpret.ts instead of the real interpreter. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';
import { BUNDLED } from '../../../worker/bundle.ts';

/** The used part of webpack's compiler; webpack itself is no dependency of ours. */
interface Compiler {
  hooks: { normalModuleFactory: { tap(name: string, use: (factory: Factory) => void): void } };
}
interface Factory {
  hooks: {
    beforeResolve: {
      tap(name: string, use: (module: { request: string; contextInfo: { issuer: string } }) => void): void;
    };
  };
}

const here = fileURLToPath(new URL('.', import.meta.url));
const replacement = {
  apply: (compiler: Compiler) =>
    compiler.hooks.normalModuleFactory.tap('broken', (factory) =>
      factory.hooks.beforeResolve.tap('broken', (module) => {
        if (
          module.request.endsWith('/interpret.ts') &&
          module.contextInfo.issuer.endsWith('/workflows/run.ts')
        )
          module.request = join(here, 'interpret.ts');
      }),
    ),
};

export function bundleBroken(): Promise<WorkflowBundle> {
  return bundleWorkflowCode({
    ...BUNDLED,
    webpackConfigHook: (config) => {
      const own = BUNDLED.webpackConfigHook(config);
      return { ...own, plugins: [...(own.plugins ?? []), replacement] };
    },
  });
}
