/**
 * What an `import` gives to a test file. Node.js itself loads the modules, as in production, and a process
 * loads the product and its packages once for all test files that it runs. Modules in `test/` are loaded
 * for each test file, because they register hooks and hold what belongs to one file.
 */
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const TESTS = new URL('../../', import.meta.url).href;
const GLOBALS = 'jest:globals';
/** At the end of an address: which test file of this process a module is loaded for. */
const FILE = /\?file=\d+$/;

let loadedFiles = 0;

/** What `@jest/globals` exports to the test file that runs now. */
type JestGlobals = Record<string, unknown>;

/** Runs a test file, which may import `@jest/globals`. */
export async function importTestFile(path: string, globals: JestGlobals): Promise<void> {
  Object.assign(globalThis, { [GLOBALS]: globals });
  loadedFiles += 1;
  await import(`${pathToFileURL(path).href}?file=${loadedFiles}`);
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const [file] = FILE.exec(context.parentURL ?? '') ?? [];
    if (file === undefined) return nextResolve(specifier, context);
    if (specifier === '@jest/globals') return { url: GLOBALS + file, format: 'module', shortCircuit: true };
    const resolved = nextResolve(specifier, context);
    return resolved.url.startsWith(TESTS) ? { ...resolved, url: resolved.url + file } : resolved;
  },
  load(url, context, nextLoad) {
    if (!url.startsWith(GLOBALS)) return nextLoad(url, context);
    return { format: 'module', source: globalsSource(), shortCircuit: true };
  },
});

function globalsSource(): string {
  const names = Object.keys(Reflect.get(globalThis, GLOBALS) as JestGlobals);
  return `export const { ${names.join(', ')} } = globalThis[${JSON.stringify(GLOBALS)}];`;
}
