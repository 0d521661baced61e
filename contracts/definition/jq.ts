/** The bridge to `expressions/`: what validation wants to know of an expression. */
import { analyze, type Analysis as JqAnalysis } from '../../expressions/index.ts';

export interface Analysis {
  problems: { message: string; line: number; column: number; suggestion?: string }[];
  /** Variables that are read and not bound in the expression, without `$`. */
  variables: string[];
  /** Names read as `$secrets.<name>`. */
  secrets: string[];
  /** `$secrets` is read without a name that can be known before the run. */
  allSecrets: boolean;
}

/** Bare jq. */
export function analyzeExpression(source: string): Analysis {
  return digest(analyze(source));
}

/** Text with `${ … }`, whole or embedded. */
export function analyzeText(text: string): Analysis {
  return digest(analyze(text, { mode: 'strict' }));
}

/** `$secrets.name` or `$secrets["any name"]` at the beginning of a path. */
const SECRET = /^\$secrets(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[("(?:[^"\\]|\\.)*")\])/;

function digest({ problems, variables, paths }: JqAnalysis): Analysis {
  const secretPaths = paths.filter((path) => /^\$secrets(?![A-Za-z0-9_])/.test(path));
  const named = secretPaths.map((path) => SECRET.exec(path)).filter((match) => match !== null);
  const secrets = named.map(([, name, quoted]) => name ?? String(JSON.parse(quoted ?? '""')));
  return { problems, variables, secrets: [...new Set(secrets)], allSecrets: named.length < secretPaths.length };
}
