/**
 * `npm start`: looks whether this Node.js can run the rest, and says so where it cannot. Kept in the JavaScript of long ago:
 * whatever `node` is on the machine reads it when nothing is installed yet.
 */
'use strict';
const fs = require('fs');
const path = require('path');

const installed = fs.existsSync(path.join(__dirname, '../node_modules/koa/package.json'));
const version = process.versions.node.split('.').map(Number);
/** Runs TypeScript as it is. */
const enough = version[0] > 22 || (version[0] === 22 && version[1] >= 18);

if (!installed && version[0] < 20) refuse('Cadenza needs Node.js 20 or newer, this is ' + process.versions.node + '. Install it (https://nodejs.org), then: npm ci && npm start');
else if (!installed) refuse('Cadenza is not installed yet: run `npm ci` first, then `npm start`.');
else if (!enough) refuse('This is Node.js ' + process.versions.node + '. Start Cadenza by `npm start`, which takes the newer one that `npm ci` has installed.');
else {
  // By a name that is made here: type checks of scripts would follow it into the whole program.
  import(path.join(__dirname, 'up.ts')).then(function (up) {
    return up.main();
  }).catch(function (error) {
    process.stderr.write((error && error.stack ? error.stack : String(error)) + '\n');
    process.exit(1);
  });
}

function refuse(message) {
  process.stderr.write(message + '\n');
  process.exit(1);
}
