/**
 * Times expressions beside jq-wasm and prints the ratios: `npm run bench:expressions`. With `--write` the
 * table goes into docs/benchmarks.md.
 */
import { compile, type Json } from '../../language/expressions/index.ts';
import { raw, renew } from '../conformance/expressions/fuzz-oracle.ts';
import { writeDocsSection } from '../support/docs-section.ts';

interface Bench {
  name: string;
  program: string;
  input: Json;
}

const small: Json = {
  user: { id: 7, name: 'Ada', tags: ['a', 'b'] },
  amount: 120,
  items: [
    { price: 2, count: 3 },
    { price: 5, count: 1 },
  ],
};
const rows: Json = Array.from({ length: 1_000 }, (_, i) => ({
  id: i,
  name: `row ${i}`,
  group: `g${i % 17}`,
  value: (i * 7919) % 1000,
  tags: [`t${i % 5}`, `u${i % 3}`],
  nested: { a: { b: i } },
}));

const benches: Bench[] = [
  { name: 'small: field', program: '.user.name', input: small },
  { name: 'small: condition', program: '.amount > 100 and .user.id == 7', input: small },
  { name: 'small: object', program: '{id: .user.id, label: "\\(.user.name) #\\(.amount)"}', input: small },
  { name: 'small: sum', program: '[.items[] | .price * .count] | add', input: small },
  { name: 'small: update', program: '.user.name |= ascii_upcase', input: small },
  { name: 'small: regex', program: '.user.name | test("^[A-Z][a-z]+$")', input: small },
  { name: '1,000 rows: map', program: 'map({id, total: (.value * 2 + 1)})', input: rows },
  { name: '1,000 rows: select', program: '[.[] | select(.value > 500) | .name]', input: rows },
  {
    name: '1,000 rows: group',
    program: 'group_by(.group) | map({group: .[0].group, sum: (map(.value) | add)})',
    input: rows,
  },
  { name: '1,000 rows: sort', program: 'sort_by(.value, .name) | map(.id)', input: rows },
  { name: '1,000 rows: update', program: '.[].nested.a.b |= . + 1', input: rows },
  {
    name: '1,000 rows: reduce to an object',
    program: 'reduce .[] as $r ({}; .["k\\($r.id)"] = $r.value)',
    input: rows,
  },
  { name: '1,000 rows: count by key', program: 'reduce .[] as $r ({}; .[$r.group] += 1)', input: rows },
  { name: '1,000 rows: reduce to an array', program: 'reduce .[] as $r ([]; . + [$r.id])', input: rows },
  { name: '1,000 rows: entries', program: 'map(with_entries(select(.key != "tags")))', input: rows },
  { name: '1,000 rows: walk', program: 'walk(if type == "number" then . + 1 else . end)', input: rows },
  { name: '1,000 rows: regex', program: 'map(.name |= sub("row (?<n>[0-9]+)"; "#\\(.n)"))', input: rows },
  { name: '1,000 rows: paths', program: '[paths(type == "number")] | length', input: rows },
  { name: '1,000 rows: to and from JSON', program: 'tojson | fromjson | length', input: rows },
  {
    name: '1,000 rows: user function',
    program: 'def f($x; g): if $x > 500 then g else 0 end; map(f(.value; .id))',
    input: rows,
  },
];

/** Median time of a call in µs. */
async function timeUs(run: () => unknown, forMs: number): Promise<number> {
  const samples: number[] = [];
  const started = performance.now();
  while (samples.length < 5 || (performance.now() - started < forMs && samples.length < 20_000)) {
    const before = performance.now();
    try {
      await run();
      samples.push((performance.now() - before) * 1000);
    } catch {
      // jq-wasm fails after some hundred calls, and then needs a new instance.
      renew();
    }
  }
  samples.sort((a, b) => a - b);
  return samples[samples.length >> 1] ?? 0;
}

/** The same for programs that are too fast for the clock: many calls for each sample. */
function timeShortUs(run: () => unknown, calls: number): number {
  const samples: number[] = [];
  for (let i = 0; i < 15; i++) {
    const before = performance.now();
    for (let j = 0; j < calls; j++) run();
    samples.push(((performance.now() - before) * 1000) / calls);
  }
  samples.sort((a, b) => a - b);
  return samples[samples.length >> 1] ?? 0;
}

const format = (n: number): string =>
  n < 10 ? n.toFixed(2) : n < 100 ? n.toFixed(1) : Math.round(n).toLocaleString('en-US');
const table = ['| expression | ours, µs | jq-wasm, µs | ratio |', '|---|---:|---:|---:|'];
let isSlow = false;
for (const { name, program, input } of benches) {
  renew();
  const compiled = compile(program);
  const text = JSON.stringify(input);
  const expected: unknown = JSON.parse(await raw(text, program, ['-c']));
  if (JSON.stringify(expected) !== JSON.stringify(compiled.first(input)))
    process.stdout.write(`${name}: results differ\n`);
  const ours = name.startsWith('small')
    ? timeShortUs(() => compiled.first(input), 5_000)
    : await timeUs(() => compiled.first(input), 300);
  const theirs = await timeUs(async () => JSON.parse(await raw(text, program, ['-c'])) as unknown, 300);
  if (name.startsWith('small') ? ours > 20 : ours > theirs) isSlow = true;
  const cells = [
    `${name}: \`${program.replaceAll('|', '\\|')}\``,
    format(ours),
    format(theirs),
    format(theirs / ours),
  ];
  const row = `| ${cells.join(' | ')} |`;
  table.push(row);
  process.stdout.write(`${row}\n`);
}
const cold = await timeUs(
  () => compile(`.user.name + "${Math.random()}" | if . == "x" then {a: .} else [.] end`),
  200,
);
const coldRow = `| compiling a new expression | ${format(cold)} | | |`;
process.stdout.write(
  `${coldRow}\n${isSlow ? 'TOO SLOW: see the ratios below 1, or small expressions above 20 µs\n' : ''}`,
);
table.push(coldRow);

if (process.argv.includes('--write')) {
  const today = new Date().toISOString().slice(0, 10);
  const body = [
    '## Expressions',
    '',
    `\`npm run bench:expressions\`, Node ${process.versions.node}, ${today}: ` +
      'medians of warm calls. ' +
      'The times of jq-wasm include the parsing and printing of JSON that a call needs. ' +
      'Ratio: how many times faster ours is.',
    '',
    ...table,
  ].join('\n');
  await writeDocsSection({
    file: 'docs/benchmarks.md',
    name: 'expressions',
    script: 'bench:expressions',
    body,
  });
}
