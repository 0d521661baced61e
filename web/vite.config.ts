/** Builds the console into `web/dist`, which the API serves at `/console/`. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Hints for bundlers are of no use to browsers. */
const rolldownOptions = { output: { comments: { legal: true, annotation: false, jsdoc: false } } };

export default defineConfig(({ command }) => ({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/console/',
  // Never what is for development, whatever NODE_ENV says: tests measure what people load.
  ...(command === 'build' ? { define: { 'process.env.NODE_ENV': '"production"' } } : {}),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: 'dist',
    // The policy of the page allows no inline content but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: ['chrome123', 'firefox125', 'safari17.5'],
    reportCompressedSize: false,
    rolldownOptions,
  },
  worker: { format: 'es', rolldownOptions },
  server: {
    // Everything but the console's own files belongs to the API of `npm start`.
    proxy: { '^/(?!console/)|^/console/session': { target: 'http://127.0.0.1:3000' } },
  },
}));
