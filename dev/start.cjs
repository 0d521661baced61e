/**
 * `npm start`: checks that this Node.js can run Cadenza, and says what to do if not. Written in old
 * JavaScript, because any version of `node` may run it before anything is installed.
 */
'use strict';
const fs = require('fs');
const path = require('path');

const installed = fs.existsSync(path.join(__dirname, '../node_modules/koa/package.json'));
const version = process.versions.node.split('.').map(Number);
/** Whether this version runs TypeScript directly. */
const enough = version[0] > 22 || (version[0] === 22 && version[1] >= 18);

if (!installed && version[0] < 20)
  exitWith(
    'Cadenza needs Node.js 20 or newer, but this is ' +
      process.versions.node +
      '. Install it (https://nodejs.org), then: npm ci && npm start',
  );
else if (!installed) exitWith('Cadenza is not installed yet: run `npm ci` first, then `npm start`.');
else if (!enough)
  exitWith(
    'This is Node.js ' +
      process.versions.node +
      '. Start Cadenza with `npm start`, which uses the newer version that `npm ci` installed.',
  );
else {
  // A computed path, so that type checks of scripts do not follow it into the whole program.
  import(path.join(__dirname, 'up.ts'))
    .then(function (up) {
      return up.main();
    })
    .catch(function (error) {
      process.stderr.write((error && error.stack ? error.stack : String(error)) + '\n');
      process.exit(1);
    });
}

function exitWith(message) {
  process.stderr.write(message + '\n');
  process.exit(1);
}
