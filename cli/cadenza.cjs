#!/usr/bin/env node
/**
 * The command `cadenza`: runs main.ts with the Node.js that `npm ci` installed, because the one on the PATH
 * may be too old to run TypeScript. Written in old JavaScript for that reason.
 */
'use strict';
const childProcess = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const version = process.versions.node.split('.').map(Number);
/** Whether this version runs TypeScript directly, and has all that the command line uses. */
const enough = version[0] >= 24;
const main = path.join(__dirname, 'main.ts');

// npm runs scripts in the package's folder, but files are named relative to where the user is.
if (process.env.npm_lifecycle_event === 'cadenza' && process.env.INIT_CWD)
  process.chdir(process.env.INIT_CWD);

if (enough) {
  // Compiling takes two thirds of a start. The folder is the user's own, because code in it is executed. If
  // it cannot be written, the start only takes longer.
  const caches = process.env.XDG_CACHE_HOME || (process.env.HOME && path.join(process.env.HOME, '.cache'));
  if (caches) require('module').enableCompileCache(path.join(caches, 'cadenza', 'compiled'));
  void import(main).then((program) => program.main());
} else runWith(path.join(__dirname, '../node_modules/node/bin/node'));

function runWith(node) {
  if (!fs.existsSync(node)) {
    process.stderr.write('cadenza is not installed yet: run `npm ci` in its folder first.\n');
    process.exit(1);
  }
  const options = { stdio: 'inherit' };
  const args = ['--no-warnings', __filename].concat(process.argv.slice(2));
  const child = childProcess.spawn(node, args, options);
  const pass = (signal) => process.on(signal, () => child.kill(signal));
  ['SIGINT', 'SIGTERM', 'SIGHUP'].forEach(pass);
  child.on('exit', (code, signal) => {
    process.exit(code === null ? 128 + (os.constants.signals[signal] || 0) : code);
  });
}
