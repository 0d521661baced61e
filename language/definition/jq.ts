/** Bridge to `language/expressions`: static information about an expression, for validation. */
// Not from `index.ts`: who only checks definitions, such as the console, does without the engine.
import { analyze, type Analysis as JqAnalysis } from '../expressions/analyze.ts';

export interface Analysis {
  problems: { message: string; line: number; column: number; suggestion?: string }[];
  /** Free variables of the expression, without `$`. */
  variables: string[];
  /** Names read as `$secrets.<name>`. */
  secrets: string[];
  /** Whether `$secrets` is read with a name that is only known at run time. */
  allSecrets: boolean;
}

/** Maximum characters of an expression. Longer ones should be split, and would not compile. */
const MAX_LENGTH = 50_000;

/** Bare jq. */
export function analyzeExpression(source: string): Analysis {
  return source.length > MAX_LENGTH ? tooLong() : digest(analyze(source));
}

/** A text with `${ … }`, as a whole or embedded. */
export function analyzeText(text: string): Analysis {
  return text.length > MAX_LENGTH ? tooLong() : digest(analyze(text, { mode: 'strict' }));
}

function tooLong(): Analysis {
  const message = `an expression may have at most ${MAX_LENGTH} characters: split it over several tasks`;
  return { problems: [{ message, line: 1, column: 1 }], variables: [], secrets: [], allSecrets: false };
}

/** Matches `$secrets.name` or `$secrets["any name"]` at the start of a path. */
const SECRET = /^\$secrets(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[("(?:[^"\\]|\\.)*")\])/;

function digest({ problems, variables, paths }: JqAnalysis): Analysis {
  const secretPaths = paths.filter((path) => /^\$secrets(?![A-Za-z0-9_])/.test(path));
  const named = secretPaths.map((path) => SECRET.exec(path)).filter((match) => match !== null);
  const secrets = named.map(([, name, quoted]) => name ?? String(JSON.parse(quoted ?? '""')));
  return {
    problems,
    variables,
    secrets: [...new Set(secrets)],
    allSecrets: named.length < secretPaths.length,
  };
}
