/**
 * The part of Gherkin that the specification's conformance kit uses: scenarios of steps, each with at most
 * one YAML text.
 */
import { parse } from 'yaml';

interface Step {
  text: string;
  /** The step's YAML text, parsed. */
  argument: unknown;
}

export interface Scenario {
  name: string;
  steps: Step[];
}

export function scenariosOf(feature: string): Scenario[] {
  const scenarios: Scenario[] = [];
  const lines = feature.split(/\r?\n/);
  for (let i = 0; i < lines.length; i++) {
    const line = (lines[i] ?? '').trim();
    const name = /^Scenario:\s*(.+)$/.exec(line)?.[1];
    if (name !== undefined) scenarios.push({ name, steps: [] });
    const text = /^(?:Given|When|Then|And|But)\s+(.+)$/.exec(line)?.[1];
    const scenario = scenarios.at(-1);
    if (text === undefined || !scenario) continue;
    const step: Step = { text: text.replace(/^given\s+/i, ''), argument: undefined };
    if ((lines[i + 1] ?? '').trim().startsWith('"""')) {
      const end = lines.findIndex((candidate, j) => j > i + 1 && candidate.trim() === '"""');
      step.argument = parse(lines.slice(i + 2, end).join('\n'));
      i = end;
    }
    scenario.steps.push(step);
  }
  return scenarios;
}
