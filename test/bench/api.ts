/**
 * Requests to our API beside a bare Koa server that sends the same statements: `npm run bench:api [seconds]
 * [parts of names…] [--statements]`. 64 connections.
 */
import { parseArgs } from 'node:util';
import { API_NAMES, measureApi, type Load } from './beside/api.ts';
import { chosenBy } from './beside/chosen.ts';
import { inWorld } from './beside/world.ts';

const ROUNDS = 3;
const MAX_SHOWN = 100;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { statements: { type: 'boolean', default: false } },
});
const [seconds = '3', ...parts] = positionals;
const chosen = chosenBy(parts, API_NAMES);

const measured = await inWorld((world) =>
  measureApi(world, {
    seconds: Number(seconds),
    rounds: ROUNDS,
    measures: (name) => chosen.includes(name),
  }),
);
for (const [name, { statements, ours, bare }] of Object.entries(measured)) {
  const line = (what: keyof Load, unit: string): string => {
    const ratio = (ours[what] / bare[what]).toFixed(2);
    return `  ${what}: ${ours[what].toFixed(2)}${unit} : ${bare[what].toFixed(2)}${unit} = ${ratio}`;
  };
  const lines = [line('perSecond', '/s'), line('p50', ' ms'), line('p99', ' ms'), line('cpuMs', ' ms')];
  const texts = values.statements
    ? statements.map((text) => `    ${text.replaceAll(/\s+/g, ' ').slice(0, MAX_SHOWN)}`)
    : [];
  process.stdout.write(`${[`${name}, statements: ${statements.length}`, ...texts, ...lines].join('\n')}\n`);
}
process.exit(0);
