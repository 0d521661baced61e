import { expect, test } from '@jest/globals';
import { withConformanceData } from '../../support/outside.ts';
import { scoreProblem } from '../../support/docs-section.ts';
import { readCases, type JqCase } from './jq-cases.ts';
import { exclusions } from './jq-exclusions.ts';
import { runCase } from './run-case.ts';

withConformanceData('the test cases of jq', ['jq'], (folder) => {
  const cases = readCases(folder);

  function exclusionOf(item: JqCase) {
    return exclusions.find(({ file, programs }) => file === item.file && programs.includes(item.program));
  }

  const inScope = cases.filter((item) => !exclusionOf(item));
  const failures = inScope
    .map((item) => ({ item, problem: runCase(item) }))
    .filter(({ problem }) => problem !== null);

  test('at least 95 % of the jq cases in scope pass', () => {
    const passed = inScope.length - failures.length;
    expect(
      failures.map(({ item, problem }) => `${item.file}:${item.line} ${item.program} ${problem}`),
    ).toEqual([]);
    expect(passed / inScope.length).toBeGreaterThanOrEqual(0.95);
  });

  test('every exclusion names existing cases that fail', () => {
    for (const { file, programs } of exclusions) {
      for (const program of programs) {
        const found = cases.filter((item) => item.file === file && item.program === program);
        expect({ program, found: found.length > 0 }).toEqual({ program, found: true });
        expect({ program, problem: found.map(runCase).every((problem) => problem === null) }).toEqual({
          program,
          problem: false,
        });
      }
    }
  });

  test('docs/conformance.md has the current score and the exclusions', async () => {
    const code = (text: string): string => `\`\` ${text.replaceAll('|', '\\|')} \`\``;
    const passed = inScope.length - failures.length;
    const files = [...new Set(cases.map(({ file }) => file))];
    const rows = files.map((file) => {
      const own = inScope.filter((item) => item.file === file);
      const failed = failures.filter(({ item }) => item.file === file).length;
      const total = cases.filter((item) => item.file === file).length;
      return `| ${file} | ${total} | ${own.length} | ${own.length - failed} |`;
    });
    const excluded = exclusions.flatMap(({ reason, file, programs }) => [
      '',
      `${reason}`,
      '',
      ...programs.map((program) => `- ${file}: ${code(program)}`),
    ]);
    const failing = failures.map(({ item }) => `- ${item.file}:${item.line} ${code(item.program)}`);
    const body = [
      '## jq',
      '',
      `jq's own test cases against \`language/expressions/\`: **${passed} of ${inScope.length}** cases ` +
        `in scope pass (${((100 * passed) / inScope.length).toFixed(1)} %).`,
      'Cases that must not compile count like all others. Messages of compile errors are not compared.',
      '',
      '| file | cases | in scope | passed |',
      '|---|---|---|---|',
      ...rows,
      '',
      '### Out of scope',
      ...excluded,
      ...(failing.length > 0 ? ['', '### Failing', '', ...failing] : []),
    ].join('\n');
    expect(await scoreProblem('jq', body)).toBeNull();
  });
});
