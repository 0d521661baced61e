/**
 * Starts main.ts with what was compiled before. Written in old JavaScript, so that a version of Node.js that
 * is too old can say so.
 */
'use strict';
const path = require('path');

// npm runs scripts in the package's folder, but files are named relative to where the user is.
if (process.env.npm_lifecycle_event === 'cadenza' && process.env.INIT_CWD)
  process.chdir(process.env.INIT_CWD);

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write('cadenza needs Node.js 24: run `npm ci` in its folder, then cli/cadenza.\n');
  process.exit(1);
}
// Compiling takes two thirds of a start. The folder is the user's own, because code in it is executed. If
// it cannot be written, the start only takes longer.
const caches = process.env.XDG_CACHE_HOME || (process.env.HOME && path.join(process.env.HOME, '.cache'));
if (caches) require('module').enableCompileCache(path.join(caches, 'cadenza', 'compiled'));
// A computed path, so that an old version does not read the program.
void import(path.join(__dirname, 'main.ts')).then((program) => program.main());
