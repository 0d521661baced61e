/**
 * Prints `<passed> <failed>` from jest's results (a JSON file, the first argument). Suites that did not run
 * at all count as failures. So do suites that were skipped for lack of conformance data although the data
 * folder (the second argument) exists.
 */
import { existsSync, readFileSync } from 'node:fs';

const [resultsFile, dataFolder] = process.argv.slice(2);
let counted = [0, 1];
try {
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, testResults } = JSON.parse(
    readFileSync(resultsFile, 'utf8'),
  );
  const withoutData = testResults.filter(({ assertionResults }) =>
    assertionResults.some(
      ({ status, title }) => status === 'pending' && title.includes('(skipped: no conformance data'),
    ),
  );
  const unexcused = existsSync(dataFolder) ? withoutData : [];
  for (const { name } of unexcused)
    process.stderr.write(`${name} found no conformance data, although ${dataFolder} exists\n`);
  counted = [numPassedTests, numFailedTests + numRuntimeErrorTestSuites + unexcused.length];
} catch (error) {
  process.stderr.write(`cannot read the results: ${error.message}\n`);
}
process.stdout.write(`${counted.join(' ')}\n`);
