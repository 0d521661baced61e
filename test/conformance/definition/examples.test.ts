import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { validateDefinition } from '../../../language/definition/validate.ts';
import { definitionSchema } from '../../../language/definition/json-schema.ts';
import { violations } from '../../../language/schema/validate-json.ts';
import { withConformanceData } from '../../support/outside.ts';

const schema = definitionSchema('https://cadenza.example.com/schemas/workflow.json');

/** Examples of the specification that need unsupported features, by feature. */
const NEEDS: Record<string, string[]> = {
  unsupported_grpc_file: ['call-grpc'],
};

function needs(name: string): string[] {
  return Object.entries(NEEDS)
    .filter(([, patterns]) =>
      patterns.some((pattern) =>
        pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
      ),
    )
    .map(([code]) => code)
    .toSorted();
}

withConformanceData(
  'the examples and the kit of the specification',
  ['open-workflow/examples', 'open-workflow/ctk/features'],
  (folder, features) => {
    const examples = readdirSync(folder).filter((file) => file.endsWith('.yaml'));

    test('the examples of the specification are there', () => {
      expect(examples.length).toBeGreaterThan(60);
    });

    test.each(examples)('the example %s is valid, and its unsupported features are named', (file) => {
      const definition: unknown = parse(readFileSync(`${folder}/${file}`, 'utf8'));
      const result = validateDefinition(definition);
      expect(result.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
      expect(result.valid).toBe(true);
      const missing = new Set(
        result.problems.filter(({ severity }) => severity === 'unsupported').map(({ code }) => code),
      );
      expect([...missing].toSorted()).toEqual(needs(file.replace('.yaml', '')));
      expect(result.runnable).toBe(missing.size === 0);
      expect(result.definition).toEqual(definition);
      expect(violations(schema, definition)).toEqual([]);
    });

    /** The YAML after "Given a workflow with definition:" in each scenario. */
    function scenarios(): [string, unknown][] {
      return readdirSync(features).flatMap((file) => {
        const text = readFileSync(`${features}/${file}`, 'utf8');
        const found = text.matchAll(
          /Scenario:\s*(.+?)\s*\n\s*Given a workflow with definition:\s*\n\s*"""yaml\n([\s\S]*?)\n\s*"""/g,
        );
        return [...found].map(([, title = '', source = '']): [string, unknown] => [
          `${file}: ${title}`,
          parse(source),
        ]);
      });
    }

    test.each(scenarios())('the scenario of the conformance kit is valid: %s', (_title, definition) => {
      const result = validateDefinition(definition);
      expect(result.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
      expect(result.problems.filter(({ severity }) => severity === 'warning')).toEqual([]);
      expect(result.problems).toEqual([]);
      expect(result.runnable).toBe(true);
      expect(violations(schema, definition)).toEqual([]);
    });

    test('all scenarios of the conformance kit are found', () => {
      expect(scenarios()).toHaveLength(21);
    });
  },
);
