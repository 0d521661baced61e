/**
 * The attacking process: `node attacker.ts <target as JSON> <attack,attack>`. Prints the rounds of each
 * attack on SIGTERM.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { attacks, type Target } from './attacks.ts';

// Written by index.ts.
const target = JSON.parse(process.argv[2] ?? '') as Target;
const names = (process.argv[3] ?? '').split(',');
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

const rounds = await Promise.all(
  names.map(async (name) => {
    const attack = attacks[name];
    if (!attack) throw new Error(`there is no attack ${name}`);
    let count = 0;
    while (!stopping.signal.aborted) {
      // A refused or broken connection is an answer, too.
      await attack(target, stopping.signal).catch(() => {});
      count += 1;
      await sleep(20);
    }
    return [name, count] as const;
  }),
);
console.log(JSON.stringify(Object.fromEntries(rounds)));
process.exit();
