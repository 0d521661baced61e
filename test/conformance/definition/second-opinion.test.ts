import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import * as sdk from '@serverlessworkflow/sdk';
import { parse } from 'yaml';
import { validateDefinition } from '../../../contracts/definition/validate.ts';
import { conformancePath } from '../../support/conformance.ts';
import { correct, type Loose } from '../../unit/definition/correct.ts';
import { mistakes } from '../../unit/definition/mistakes.ts';

/** What the specification's own SDK says: its JSON Schema, as far as that goes. */
function sdkAccepts(definition: unknown): boolean {
  try {
    sdk.validate('Workflow', definition as sdk.Specification.Workflow);
    return true;
  } catch {
    return false;
  }
}

/** In the specification's current schema, not yet in the SDK's: `catch.then`, lists in `for.in`. */
const NEWER = ['for-inline-array.yaml', 'try-catch-then-directive.yaml'];

const folder = conformancePath('open-workflow/examples');

test.each(readdirSync(folder).filter((file) => !NEWER.includes(file)))('SDK and we agree on %s', (file) => {
  const definition: unknown = parse(readFileSync(`${folder}/${file}`, 'utf8'));
  expect(sdkAccepts(definition)).toBe(validateDefinition(definition).valid);
});

/** The definition that the mistakes are made in, without what the SDK does not know yet. */
function correctForSdk(): Loose {
  const definition = correct();
  delete definition.do[6].order.catch.then;
  return definition;
}

test('what the SDK refuses, we refuse too', () => {
  expect(sdkAccepts(correctForSdk())).toBe(true);
  const lenient = mistakes.filter(({ change, title }) => {
    if (title.includes('catch.then')) return false;
    const definition = correctForSdk();
    change(definition);
    const ours = validateDefinition(definition);
    // The SDK knows one version of the DSL; for us another one is valid and not supported.
    return !sdkAccepts(definition) && ours.valid && !ours.problems.some(({ code }) => code === 'unsupported_dsl');
  });
  expect(lenient.map(({ title }) => title)).toEqual([]);
});
