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

/** Characters of one expression; longer ones belong into several tasks, and would not be compiled. */
const MAX_LENGTH = 50_000;

/** Bare jq. */
export function analyzeExpression(source: string): Analysis {
  return source.length > MAX_LENGTH ? tooLong() : digest(analyze(source));
}

/** Text with `${ … }`, whole or embedded. */
export function analyzeText(text: string): Analysis {
  return text.length > MAX_LENGTH ? tooLong() : digest(analyze(text, { mode: 'strict' }));
}

function tooLong(): Analysis {
  const message = `an expression may have at most ${MAX_LENGTH} characters: split it over several tasks`;
  return { problems: [{ message, line: 1, column: 1 }], variables: [], secrets: [], allSecrets: false };
}

/** `$secrets.name` or `$secrets["any name"]` at the beginning of a path. */
const SECRET = /^\$secrets(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[("(?:[^"\\]|\\.)*")\])/;

function digest({ problems, variables, paths }: JqAnalysis): Analysis {
  const secretPaths = paths.filter((path) => /^\$secrets(?![A-Za-z0-9_])/.test(path));
  const named = secretPaths.map((path) => SECRET.exec(path)).filter((match) => match !== null);
  const secrets = named.map(([, name, quoted]) => name ?? String(JSON.parse(quoted ?? '""')));
  return { problems, variables, secrets: [...new Set(secrets)], allSecrets: named.length < secretPaths.length };
}
