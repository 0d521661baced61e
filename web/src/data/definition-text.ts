/** Definitions as texts of YAML. */
import { client } from './api.ts';

/** A revision as YAML: what its author wrote, if that was YAML. */
export async function readYamlText(id: string, revision: number): Promise<string> {
  const source = await client.call('getWorkflowText', { path: { id }, query: { revision } });
  if (!isJson(source)) return source;
  const { writeYaml } = await import('../../../language/yaml/write-yaml.ts');
  return writeYaml(JSON.parse(source));
}

/** JSON is YAML too, but it has no comments. */
export function isJson(text: string): boolean {
  if (!/^\s*\{/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
