import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import * as sdk from '@serverlessworkflow/sdk';
import { parse } from 'yaml';
import { validateDefinition } from '../../../language/definition/validate.ts';
import { withConformanceData } from '../../support/outside.ts';
import { correct, type Loose } from '../../unit/language/definition/correct.ts';
import { mistakes } from '../../unit/language/definition/mistakes.ts';

/** The verdict of the specification's own SDK, as far as its JSON Schema goes. */
function sdkAccepts(definition: unknown): boolean {
  try {
    sdk.validate('Workflow', definition as sdk.Specification.Workflow);
    return true;
  } catch {
    return false;
  }
}

/** These are in the specification's current schema, but not yet in the SDK's. */
const NEWER = ['for-inline-array.yaml', 'try-catch-then-directive.yaml'];

withConformanceData('the SDK and we agree on the examples', ['open-workflow/examples'], (folder) => {
  test.each(readdirSync(folder).filter((file) => !NEWER.includes(file)))(
    'the SDK and we agree on %s',
    (file) => {
      const definition: unknown = parse(readFileSync(`${folder}/${file}`, 'utf8'));
      expect(sdkAccepts(definition)).toBe(validateDefinition(definition).valid);
    },
  );
});

/** The definition without a mistake, minus what the SDK does not know yet. */
function correctForSdk(): Loose {
  const definition = correct();
  delete definition.do[6].order.catch.then;
  return definition;
}

test('we refuse what the SDK refuses', () => {
  expect(sdkAccepts(correctForSdk())).toBe(true);
  const lenient = mistakes.filter(({ change, title }) => {
    if (title.includes('catch.then')) return false;
    // Attributes of extensions, which CloudEvents allow, the SDK refuses all.
    if (title.includes('nearly one of CloudEvents')) return false;
    const definition = correctForSdk();
    change(definition);
    const ours = validateDefinition(definition);
    // The SDK knows one version of the DSL. For us another version is valid but not supported.
    return (
      !sdkAccepts(definition) && ours.valid && !ours.problems.some(({ code }) => code === 'unsupported_dsl')
    );
  });
  expect(lenient.map(({ title }) => title)).toEqual([]);
});
